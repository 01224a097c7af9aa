// The wake-ups that are requested of a clock.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "actors/clock.h"

namespace troupe::detail {

/// One is requested only if it is earlier than all that are pending: each time is requested once, however often others
/// come before it. None is cancelled: some come for nothing. Their number is bounded also where a peer chooses ever
/// earlier times. Thread rule: one thread at a time.
class WakeTimes {
 public:
  /// While fewer are pending, one is requested for the very time when work is due.
  static constexpr std::size_t kExactMax = 64;

  /// Returns whether a wake-up at `due` is to be requested. Throws std::bad_alloc, before it is.
  [[nodiscard]] bool misses(TimePoint due) {
    if (!pending_.empty() && pending_.back() <= due) return false;
    if (pending_.size() == pending_.capacity()) pending_.reserve(2 * pending_.size() + 1);
    return true;
  }

  /// Returns the time to request for `due`. While many are pending, it is earlier, by a sixteenth of the wait or a
  /// millisecond at most: a multiple of a step, of which a year has 600. Then nothing is due when the wake-up comes,
  /// and another is requested. REQUIRES: misses(due) was true just before.
  [[nodiscard]] TimePoint time_for(TimePoint due, TimePoint now) const noexcept {
    if (pending_.size() < kExactMax || due <= now) return due;
    const auto step = std::bit_floor(static_cast<std::uint64_t>((due - now).count()) / 16);
    const TimePoint early = due - due.time_since_epoch() % static_cast<Duration::rep>(std::max(step, kStepMin));
    return early > now ? early : due;
  }

  /// It is requested. REQUIRES: `at` is what time_for returned just before.
  void requested(TimePoint at) noexcept { pending_.push_back(at); }

  /// A wake-up has come. Returns false if its time was up at an earlier one: then there is nothing to do.
  [[nodiscard]] bool came(TimePoint now) noexcept {
    bool is_first = false;
    for (; !pending_.empty() && pending_.back() <= now; pending_.pop_back()) is_first = true;
    return is_first;
  }

 private:
  static constexpr std::uint64_t kStepMin = 1U << 20U;  // nanoseconds: a power of two, as all steps are

  std::vector<TimePoint> pending_;  // the latest first
};

}  // namespace troupe::detail
