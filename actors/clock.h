// Time and timers, as an object that is passed in: the system's clock in production, a virtual one in the simulator.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace troupe {

/// A monotonic time; only differences of two times have a meaning.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

/// Returns `now + after`, or nullopt (no time limit) if the clock cannot represent that time.
[[nodiscard]] inline std::optional<TimePoint> later(TimePoint now, Duration after) {
  if (after > TimePoint::max() - now) return std::nullopt;
  return now + after;
}

/// Identifies a timer, for Clock::cancel.
struct TimerId {
  std::uint64_t value = 0;
  friend auto operator<=>(const TimerId&, const TimerId&) = default;
};

/// Thread rule: any thread may call any member.
class Clock {
 public:
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Runs `action` once, at `due`, on the clock's thread. REQUIRES: `action` does not block and runs no user code. It
  /// throws nothing but std::bad_alloc, and may be run again after that.
  virtual TimerId at(TimePoint due, std::function<void()> action) = 0;

  /// Cancels a timer: once cancel returns, its action does not run. Exception: cancel is called by that action itself.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace troupe
