// One heartbeat as bytes: its contents, and the proof that it belongs to a session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "actors/sessions/failure_detector.h"

namespace troupe {

/// Known to both sides of one session, derived at its handshake; never sent. Not comparable.
class PulseKey {
 public:
  static constexpr std::size_t kBytes = 16;
  PulseKey() = default;
  explicit PulseKey(std::span<const std::byte, kBytes> bytes);
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// Begins each datagram to one life of a node, before the beat. Whoever has the cluster's secret derives it.
using PulseMark = std::array<std::byte, 8>;

/// Offsets in bytes, little-endian: 0 magic "TRPB", 4 slot, 8 number, 16 interval in ms (4), 20 deaf in ms (4), 24
/// flags (4; bit 0: sees, bit 1: is_seen, others 0), 28 proof (8): SipHash-2-4 under the session's key of bytes 0
/// to 27.
struct Beat {
  static constexpr std::size_t kBytes = 36;
  using Bytes = std::array<std::byte, kBytes>;

  std::uint32_t slot = 0;    ///< of the session, chosen by the receiver
  std::uint64_t number = 0;  ///< counts the beats of the session from 1: a repeated number proves nothing
  FailureDetector::Said said;
  bool sees = false;     ///< the sender reads the receiver's page
  bool is_seen = false;  ///< the receiver has said that it reads the sender's page
};

[[nodiscard]] Beat::Bytes encode(const Beat& beat, const PulseKey& key);

/// Returns nullopt if the bytes are no beat. Checks no proof: see `is_proved`.
[[nodiscard]] std::optional<Beat> decode_beat(std::span<const std::byte> bytes);

/// REQUIRES: `beat` has the bytes of a beat.
[[nodiscard]] bool is_proved(std::span<const std::byte> beat, const PulseKey& key);

}  // namespace troupe
