// One heartbeat as bytes: what it says, and the proof that it comes from the session in which it was promised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "actors/sessions/failure_detector.h"

namespace troupe {

/// Known to both sides of one session, derived at its handshake; never sent. Has no operator==.
class PulseKey {
 public:
  static constexpr std::size_t kBytes = 16;
  PulseKey() = default;
  explicit PulseKey(std::span<const std::byte, kBytes> bytes);
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// Offsets in bytes, little-endian: 0 magic "TRPB", 4 slot, 8 number, 16 interval in ms (4), 20 deaf in ms (4), 24 proof
/// (8): SipHash-2-4 under the session's key of bytes 0 to 23.
struct Beat {
  static constexpr std::size_t kBytes = 32;
  using Bytes = std::array<std::byte, kBytes>;

  std::uint32_t slot = 0;    ///< of the session, as the receiver chose it
  std::uint64_t number = 0;  ///< counts the beats of the session from 1: what was seen before proves nothing
  FailureDetector::Said said;
};

[[nodiscard]] Beat::Bytes encode(const Beat& beat, const PulseKey& key);

/// None if the bytes are no beat. Proves nothing: see `is_proved`.
[[nodiscard]] std::optional<Beat> decode_beat(std::span<const std::byte> bytes);

/// Requires the bytes of a beat.
[[nodiscard]] bool is_proved(std::span<const std::byte> beat, const PulseKey& key);

}  // namespace troupe
