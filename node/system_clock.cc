#include "node/system_clock.h"

#include <new>

namespace troupe {

SystemClock::SystemClock() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

SystemClock::~SystemClock() = default;

TimerId SystemClock::at(TimePoint due, std::function<void()> action) {
  TimerId timer;
  bool earliest = false;
  {
    const std::lock_guard lock(mutex_);
    timer = TimerId{++last_id_};
    const auto of_timer = due_.emplace(timer, due).first;
    try {
      const auto position = timers_.emplace(Key{due, timer}, std::move(action)).first;
      earliest = position == timers_.begin();
    } catch (const std::bad_alloc&) {
      due_.erase(of_timer);
      throw;
    }
  }
  if (earliest) changed_.notify_all();
  return timer;
}

void SystemClock::cancel(TimerId timer) {
  std::function<void()> cancelled;  // destroyed after the lock: it may own anything
  std::unique_lock lock(mutex_);
  if (const auto found = due_.find(timer); found != due_.end()) {
    const auto position = timers_.find(Key{found->second, timer});
    cancelled = std::move(position->second);
    timers_.erase(position);
    due_.erase(found);
    lock.unlock();
    return;
  }
  if (running_ != timer) return;
  cancelled_ = true;
  if (std::this_thread::get_id() == thread_.get_id()) return;
  changed_.wait(lock, [&] { return running_ != timer; });
}

void SystemClock::destroy() {
  if (std::this_thread::get_id() == thread_.get_id()) {
    destroyed_ = true;
  } else {
    delete this;
  }
}

namespace {

/// Returns false if the action had no memory.
bool succeeds(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

void SystemClock::run(const std::stop_token& stop) noexcept {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (timers_.empty()) {
      changed_.wait(lock, stop, [&] { return !timers_.empty(); });
      continue;
    }
    const TimePoint due = timers_.begin()->first.first;
    if (now() < due) {
      changed_.wait_until(lock, stop, due, [&] { return timers_.empty() || timers_.begin()->first.first < due; });
      continue;
    }
    auto timer = timers_.extract(timers_.begin());
    running_ = timer.key().second;
    auto of_timer = due_.extract(running_);
    cancelled_ = false;
    lock.unlock();
    const bool is_done = succeeds(timer.mapped());
    if (is_done || destroyed_) timer = {};  // destroys what the action owns before `cancel` returns
    if (destroyed_) {
      thread_.detach();
      delete this;
      return;
    }
    lock.lock();
    if (!is_done && !cancelled_) {  // both were there before: this takes no memory
      of_timer.mapped() = timer.key().first = now() + kAgainAfter;
      due_.insert(std::move(of_timer));
      timers_.insert(std::move(timer));
    } else if (!is_done) {
      lock.unlock();
      timer = {};
      lock.lock();
    }
    running_ = {};
    changed_.notify_all();
  }
}

std::shared_ptr<Clock> make_system_clock() {
  return {new SystemClock, [](SystemClock* clock) { clock->destroy(); }};
}

}  // namespace troupe
