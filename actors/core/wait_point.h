// The only place where a thread of the runtime or of a user blocks.
//
// Every wait ends: by a signal, at its due time, or with the end of what it waits for (every promise is completed). The
// thread's BlockingHook is called around each wait: the elastic pool lets another function run, the turn on a value is
// given up, the simulator passes its baton on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "actors/clock.h"

namespace troupe::detail {

/// A one-shot event. Thread rule: any thread may call any member.
class WaitPoint {
 public:
  /// Ends all waits, present and future.
  void signal();

  [[nodiscard]] bool signalled() const;

  /// Waits for the signal, at most until `due`. Returns whether it was signalled. Calls the thread's BlockingHook.
  bool wait(std::optional<TimePoint> due);

  /// As wait, without the hook: for hooks themselves and threads that have none. `due` is system time.
  bool wait_here(std::optional<TimePoint> due);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool signalled_ = false;  // guarded by mutex_
};

/// Called around each wait of a thread. Belongs to one thread.
class BlockingHook {
 public:
  virtual ~BlockingHook() = default;
  virtual bool wait(WaitPoint& point, std::optional<TimePoint> due) = 0;

  /// Returns the calling thread's hook, or null.
  [[nodiscard]] static BlockingHook* current() noexcept;

  /// Installs `hook` for the calling thread during the guard's lifetime.
  class Guard {
   public:
    explicit Guard(BlockingHook& hook) noexcept;
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    BlockingHook* previous_;
  };
};

}  // namespace troupe::detail
