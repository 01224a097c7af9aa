// The bytes of the handshake: little-endian, texts as one length byte and that many bytes, nothing follows the last
// field.
//
//   every message   magic "TRPH" (4), kind (1), then as below. An incarnation is its high and low half (8 + 8).
//   1 hello         version min, max (2 + 2), nonce (32), incarnation (16), name, address, cluster id, pulse
//   2 challenge     version (2), client's nonce (32), nonce (32), incarnation (16), name, address, pulse, proof (32)
//   3 proof         proof (32)
//   4 welcome       slot (4), proof (32)
//   5 refused       error code (2), version min, max (2 + 2)
//   pulse           the address for its heartbeats (text), its lease in milliseconds (4), 0xFFFFFFFF: endless
// All but `refused` end with XXH3-64 of the bytes before (8): this tells damaged bytes from a wrong secret.
// Magic, kind, the versions of a hello and the whole of `refused` are the same in every version, for ever.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe::handshake {

using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;
inline constexpr std::size_t kChecksumBytes = 8;

/// A node's description of its heartbeats.
struct PulseInfo {
  std::string address{};  ///< "udp://127.0.0.1:40211", "unix://@troupe-ps0.pulse"; empty: it has none
  Duration lease = std::chrono::seconds{10};  ///< a peer silent for this long is dead to it; kEndlessLease: never
  friend bool operator==(const PulseInfo&, const PulseInfo&) = default;
};

struct Hello {
  std::uint16_t version_min = 0;
  std::uint16_t version_max = 0;
  Nonce nonce{};
  Incarnation incarnation{};
  std::string name{};
  std::string address{};
  std::string cluster_id{};
  PulseInfo pulse{};
};

struct Challenge {
  std::uint16_t version = 0;
  Nonce client_nonce{};
  Nonce nonce{};
  Incarnation incarnation{};
  std::string name{};
  std::string address{};
  PulseInfo pulse{};
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

/// REQUIRES: texts have at most 255 bytes.
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// Errors: decode. Of a hello whose version range excludes `version`, only that range is read.
[[nodiscard]] Result<Message> decode(std::span<const std::byte> bytes, std::uint16_t version_min,
                                     std::uint16_t version_max);

}  // namespace troupe::handshake
