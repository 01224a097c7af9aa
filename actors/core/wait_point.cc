#include "actors/core/wait_point.h"

#include <exception>

namespace troupe::detail {
namespace {
thread_local BlockingHook* current_hook = nullptr;  // used by scoped guards only
thread_local int no_throw_guards = 0;
}  // namespace

void WaitPoint::signal() {
  // Notified under the lock: the waiter may destroy this object as soon as it sees the signal.
  std::lock_guard lock(mutex_);
  signalled_ = true;
  changed_.notify_all();
  if (waker_ != nullptr) waker_->wake();
}

bool WaitPoint::signalled() const {
  std::lock_guard lock(mutex_);
  return signalled_;
}

bool WaitPoint::wait(std::optional<TimePoint> due) {
  if (signalled()) return true;
  if (BlockingHook* hook = BlockingHook::current()) return hook->wait(*this, due);
  return wait_here(due);
}

bool WaitPoint::wait_here(std::optional<TimePoint> due) {
  if (work_) {
    if (const auto came = work_->work_until(*this, due)) return *came;
  }
  std::unique_lock lock(mutex_);
  if (!due) {
    changed_.wait(lock, [this] { return signalled_; });
    return true;
  }
  return changed_.wait_until(lock, *due, [this] { return signalled_; });
}

bool WaitPoint::wake_too(const Waker& waker) {
  std::lock_guard lock(mutex_);
  if (signalled_) return false;
  waker_ = &waker;
  return true;
}

void WaitPoint::wake_no_longer() {
  std::lock_guard lock(mutex_);
  waker_ = nullptr;
}

BlockingHook* BlockingHook::current() noexcept { return current_hook; }

BlockingHook::Guard::Guard(BlockingHook& hook) noexcept : previous_(current_hook) { current_hook = &hook; }

BlockingHook::Guard::~Guard() { current_hook = previous_; }

bool BlockingHook::may_throw() noexcept { return no_throw_guards == 0 && std::uncaught_exceptions() == 0; }

BlockingHook::NoThrow::NoThrow() noexcept { ++no_throw_guards; }

BlockingHook::NoThrow::~NoThrow() { --no_throw_guards; }

}  // namespace troupe::detail
