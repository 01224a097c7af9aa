// The one place where a thread of ours, or of a user, waits.
//
// A wait always has an end: a signal, a due time, or the end of what it waits for (every promise is kept). The thread's
// BlockingHook learns of each wait: the elastic pool lets another function run meanwhile, a turn is given up, the
// simulator hands its baton on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "actors/clock.h"

namespace troupe::detail {

/// A one-shot event. Any thread may call any member.
class WaitPoint {
 public:
  /// Ends all waits, now and later.
  void signal();

  [[nodiscard]] bool signalled() const;

  /// Waits for the signal, at most until `due`; returns whether it came. Tells the thread's BlockingHook.
  bool wait(std::optional<TimePoint> due);

  /// As wait, without a hook: for hooks themselves and threads that have none. System time.
  bool wait_here(std::optional<TimePoint> due);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool signalled_ = false;  // guarded by mutex_
};

/// What a thread does around a wait. Belongs to one thread.
class BlockingHook {
 public:
  virtual ~BlockingHook() = default;
  virtual bool wait(WaitPoint& point, std::optional<TimePoint> due) = 0;

  /// The calling thread's hook, or null.
  [[nodiscard]] static BlockingHook* current() noexcept;

  /// Makes `hook` the calling thread's for the guard's life.
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
