// Time and timers, as an object that is passed in: the system's clock in production, a virtual one in the simulator.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace troupe {

/// Monotonic; only differences mean anything.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

/// `after` from `now`; nothing if the clock does not go so far: for ever.
[[nodiscard]] inline std::optional<TimePoint> later(TimePoint now, Duration after) {
  if (after > TimePoint::max() - now) return std::nullopt;
  return now + after;
}

/// Names a timer that was started and may still be cancelled.
struct TimerId {
  std::uint64_t value = 0;
  friend auto operator<=>(const TimerId&, const TimerId&) = default;
};

/// Thread rule: any thread may call any member.
class Clock {
 public:
  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() const = 0;

  /// Runs `action` once at `due` on the clock's thread; it must not block and never runs user code.
  virtual TimerId at(TimePoint due, std::function<void()> action) = 0;

  /// After it returns, the action is not running and will not run, unless called from within that action.
  virtual void cancel(TimerId timer) = 0;
};

}  // namespace troupe
