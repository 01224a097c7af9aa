// The only place where a thread of the runtime or of a user blocks.
//
// Every wait ends: by a signal, at its due time, or with the end of what it waits for (every promise is completed). The
// thread's BlockingHook is called around each wait: the elastic pool lets another function run, the turn on a value is
// given up, the simulator passes its baton on. A thread may do work of its node while it waits: receive its messages,
// so that an answer need not wake two threads.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/clock.h"

namespace troupe::detail {

class WaitPoint;

/// Work of a node that a waiting thread can do. Thread rule: any thread may call any member.
class WaitingWork {
 public:
  virtual ~WaitingWork() = default;

  /// Works until `point` is signalled or until `due`. Returns whether it was signalled; nullopt if there is nothing for
  /// this thread to do: it must sleep. May return nullopt after some work. Runs no user code.
  virtual std::optional<bool> work_until(WaitPoint& point, std::optional<TimePoint> due) = 0;

  /// As work_until(), for a thread that has nothing else to do: threads that wait for an answer have precedence.
  virtual std::optional<bool> work_while_idle(WaitPoint& point) = 0;
};

/// A one-shot event. Thread rule: any thread may call any member.
class WaitPoint {
 public:
  WaitPoint() = default;
  /// Threads that wait do `work` meanwhile, which may be null.
  explicit WaitPoint(std::shared_ptr<WaitingWork> work) : work_(std::move(work)) {}

  /// Ends all waits, present and future.
  void signal();

  [[nodiscard]] bool signalled() const;

  /// Waits for the signal, at most until `due`. Returns whether it was signalled. Calls the thread's BlockingHook.
  bool wait(std::optional<TimePoint> due);

  /// As wait, without the hook: for hooks themselves and threads that have none. `due` is system time.
  bool wait_here(std::optional<TimePoint> due);

  /// Wakes a thread that works while it waits. It takes no lock.
  class Waker {
   public:
    virtual ~Waker() = default;
    virtual void wake() const noexcept = 0;
  };
  /// For WaitingWork: the signal wakes `waker` too. Returns false, and does nothing, if the signal has come.
  [[nodiscard]] bool wake_too(const Waker& waker);
  /// The signal wakes the waker no more.
  void wake_no_longer();

 private:
  const std::shared_ptr<WaitingWork> work_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool signalled_ = false;        // guarded by mutex_
  const Waker* waker_ = nullptr;  // guarded by mutex_
};

/// Called around each wait of a thread. Belongs to one thread.
class BlockingHook {
 public:
  virtual ~BlockingHook() = default;
  /// Waits as WaitPoint::wait_here. May end the waiting function by an exception, but only if may_throw() returns true.
  virtual bool wait(WaitPoint& point, std::optional<TimePoint> due) = 0;

  /// Runs `part` on this thread while the function that called it is as one that waits: it has no turn on a value.
  /// Throws as `part` does.
  virtual void run_as_wait(const std::function<void()>& part) { part(); }

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

  /// Returns whether a wait of the calling thread may throw.
  [[nodiscard]] static bool may_throw() noexcept;

  /// For a destructor that waits: no wait of the calling thread may throw during the guard's lifetime.
  class NoThrow {
   public:
    NoThrow() noexcept;
    ~NoThrow();
    NoThrow(const NoThrow&) = delete;
    NoThrow& operator=(const NoThrow&) = delete;
  };
};

}  // namespace troupe::detail
