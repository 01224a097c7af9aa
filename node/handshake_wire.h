// The bytes of the handshake: little-endian, texts as one length byte and that many bytes, nothing follows the last field.
//
//   every message   magic "TRPH" (4), kind (1), then:
//   1 hello         version min, max (2 + 2), nonce (32), incarnation high, low (8 + 8), name, address, cluster id
//   2 challenge     version (2), client's nonce (32), nonce (32), incarnation (16), name, address, proof (32)
//   3 proof         proof (32)
//   4 welcome       slot (4), proof (32)
//   5 refused       error code (2), version min, max (2 + 2)
// Magic, kind and the versions of a hello are the same in every version, for ever.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::handshake {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

struct Hello {
  std::uint16_t version_min = 0;
  std::uint16_t version_max = 0;
  Nonce nonce{};
  Incarnation incarnation{};
  std::string name{};
  std::string address{};
  std::string cluster_id{};
};

struct Challenge {
  std::uint16_t version = 0;
  Nonce client_nonce{};
  Nonce nonce{};
  Incarnation incarnation{};
  std::string name{};
  std::string address{};
  Proof proof{};
};

struct ClientProof {
  Proof proof{};
};

struct Welcome {
  std::uint32_t slot = 0;
  Proof proof{};
};

struct Refused {
  ErrorCode code = ErrorCode::internal;
  std::uint16_t version_min = 0;
  std::uint16_t version_max = 0;
};

using Message = std::variant<Hello, Challenge, ClientProof, Welcome, Refused>;

/// Requires texts of at most 255 bytes.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// Errors: decode. A hello with a version range that excludes `version` is read no further than that range.
[[nodiscard]] Result<Message> decode(std::span<const std::byte> bytes, std::uint16_t version_min,
                                     std::uint16_t version_max);

}  // namespace troupe::handshake
