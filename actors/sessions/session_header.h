// The first frame of every packet between two sessions: fixed layout, little-endian, checksummed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "actors/link.h"
#include "actors/sessions/call_credit.h"
#include "actors/sessions/parcel.h"
#include "messages/error.h"
#include "messages/ids.h"

namespace troupe {

/// The kind of a packet.
enum class SessionKind : std::uint8_t {
  data = 1,   ///< carries (a piece of) one message of the layer above; `number` is its sequence number in its lane
  ack = 2,    ///< carries acknowledgements and grants only; `number` is the probe of `lane` that it answers, 0 if none
  probe = 4,  ///< asks which data of `lane` sent before it has arrived, and for grants; `number` counts probes
  goodbye = 5,  ///< `lane` ends after sequence number `number`
};

/// The streams of a session. Each is reliable and in order, and none waits for another.
enum class SessionLane : std::uint8_t {
  express = 0,  ///< small messages of every kind
  calls = 1,    ///< large calls
  nested = 2,   ///< large calls made inside served functions
  answers = 3,  ///< large answers
  words = 4,    ///< large control messages: gradients, parts of collectives
};
inline constexpr std::size_t kSessionLanes = 5;

[[nodiscard]] constexpr std::size_t index_of(SessionLane lane) { return static_cast<std::size_t>(lane); }

/// Returns the grant that calls in that lane use; nullopt: the lane has no calls.
[[nodiscard]] constexpr std::optional<Charge> charge_in(SessionLane lane) {
  if (lane == SessionLane::calls) return Charge::call;
  if (lane == SessionLane::nested) return Charge::nested;
  return std::nullopt;
}

/// Offsets in bytes: 0 magic "TRPS", 4 version, 5 kind, 6 lane, 7 part, 8 from (high, low), 24 to (high, low), 40
/// number, 48 acknowledged lane, 49 charge, 50 riders, 51 bytes used (5), 56 ack, 64 ahead, 72 bytes granted, 80 calls
/// granted, 88 nested calls granted, 96 remaining, 104 after, 112 hash, 120 XXH3-64 of bytes 0 to 119.
struct SessionHeader {
  static constexpr std::size_t kBytes = 128;
  static constexpr std::uint8_t kVersion = 4;
  static constexpr std::uint64_t kBytesUsedMax = (std::uint64_t{1} << 40) - 1;

  SessionKind kind = SessionKind::data;
  SessionLane lane = SessionLane::express;
  Part part = Part::whole;
  Incarnation from{};
  Incarnation to{};
  std::uint64_t number = 0;

  SessionLane acked_lane = SessionLane::express;  ///< the lane of `ack`, `ahead` and `bytes_granted`
  std::uint64_t ack = 0;                          ///< every sequence number up to this one has arrived
  std::uint64_t ahead = 0;                        ///< bit i: ack + 2 + i has arrived too
  std::uint64_t bytes_granted = 0;   ///< of messages, since the session began; express: 0, its bytes need no grant
  std::uint64_t calls_granted = 0;   ///< calls, since the session began
  std::uint64_t nested_granted = 0;  ///< calls made inside served functions, since the session started

  // Of the message that a whole or first piece begins.
  Charge charge = Charge::none;
  std::uint64_t remaining_us = 0;  ///< microseconds until its sender's deadline; 0: no limit
  std::uint64_t after = 0;         ///< it is delivered after this sequence number of the express lane

  /// Of a whole message of the express lane: the messages that share its packet. They were sent before it, and their
  /// kRiderFrames frames each follow its own.
  std::uint8_t riders = 0;

  /// Of a whole message outside the express lane: its part of the lane's grant, at most kBytesUsedMax. It is the size
  /// of all its frames: only the link knows which of them travel, and a packet that is sent again may find other
  /// memory.
  std::uint64_t bytes_used = 0;

  std::uint64_t hash = 0;  ///< of the frames after this one (hash_of); 0 if the link guards bytes

  friend bool operator==(const SessionHeader&, const SessionHeader&) = default;
};

inline constexpr std::size_t kRiderFrames = 2;

[[nodiscard]] Frame encode(const SessionHeader& header);

/// Errors: `decode` for another length, magic, kind or checksum, `version_mismatch` for another version.
[[nodiscard]] Result<SessionHeader> decode_session_header(std::span<const std::byte> bytes);

/// Returns true if a packet is undamaged. Call it on the receiving thread, before the session gets the packet: a
/// damaged one counts as lost and is sent again. Reads all bytes.
[[nodiscard]] bool is_intact(const Frames& packet);

}  // namespace troupe
