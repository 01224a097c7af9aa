// Real time: the steady clock and one thread for timers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "actors/clock.h"

namespace troupe {

/// Runs timers in order of due time, those of equal due time in the order of creation, each outside its lock. An action
/// that throws std::bad_alloc stays a timer, due `kAgainAfter` later: no timer is lost for lack of memory. The
/// destructor waits for a running action and drops the rest. REQUIRES: an action does not destroy the clock directly.
class SystemClock final : public Clock {
 public:
  static constexpr std::chrono::milliseconds kAgainAfter{100};

  SystemClock();
  ~SystemClock() override;
  SystemClock(const SystemClock&) = delete;
  SystemClock& operator=(const SystemClock&) = delete;

  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }

  /// Any exception of `action` but std::bad_alloc ends the process. Throws std::bad_alloc; then there is no timer.
  TimerId at(TimePoint due, std::function<void()> action) override;

  void cancel(TimerId timer) override;

  /// Destroys the clock, which was made by `new`; after the running action, if that action calls this.
  void destroy();

 private:
  using Key = std::pair<TimePoint, TimerId>;

  void run(const std::stop_token& stop) noexcept;

  std::mutex mutex_;
  std::condition_variable_any changed_;          ///< a timer was set, an action ended, or stop was asked
  std::map<Key, std::function<void()>> timers_;  ///< guarded by mutex_
  std::map<TimerId, TimePoint> due_;             ///< of every timer in timers_; guarded by mutex_
  std::uint64_t last_id_ = 0;                    ///< guarded by mutex_
  TimerId running_;                              ///< guarded by mutex_; 0 = none
  bool cancelled_ = false;                       ///< the running one; guarded by mutex_
  bool destroyed_ = false;                       ///< on its own thread: deleted when the action ends
  std::jthread thread_;                          ///< last: it uses all of the above
};

/// Returns a system clock whose last owner may release it anywhere, also in one of its own actions.
[[nodiscard]] std::shared_ptr<Clock> make_system_clock();

}  // namespace troupe
