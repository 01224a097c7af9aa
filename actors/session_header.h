// The first frame of every message between two sessions: fixed layout, little-endian, checksummed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "actors/link.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// What a session message is for.
enum class SessionKind : std::uint8_t {
  data = 1,       ///< carries one message of the layer above; `number` is its sequence number
  ack = 2,        ///< carries acknowledgements only; `number` is the probe it answers, 0 if none
  heartbeat = 3,  ///< "I live"; acknowledges too; `number` is in how many milliseconds at the latest the next comes
  probe = 4,      ///< asks which data arrived that was sent before it; `number` counts probes
  goodbye = 5,    ///< nothing follows after sequence number `number`
};

/// Offsets in bytes: 0 magic "TRPS", 4 version, 5 kind, 6 zero (2), 8 from (high, low), 24 to (high, low), 40 number,
/// 48 ack, 56 ahead, 64 XXH3-64 of bytes 0 to 63.
struct SessionHeader {
  static constexpr std::size_t kBytes = 72;
  static constexpr std::uint8_t kVersion = 1;

  SessionKind kind = SessionKind::data;
  Incarnation from{};
  Incarnation to{};
  std::uint64_t number = 0;
  std::uint64_t ack = 0;    ///< every sequence number up to this one has arrived
  std::uint64_t ahead = 0;  ///< bit i: ack + 2 + i has arrived too

  friend bool operator==(const SessionHeader&, const SessionHeader&) = default;
};

[[nodiscard]] Frame encode(const SessionHeader& header);

/// Errors: `decode` for another length, magic, kind or checksum, `version_mismatch` for another version.
[[nodiscard]] Result<SessionHeader> decode_session_header(std::span<const std::byte> bytes);

}  // namespace troupe
