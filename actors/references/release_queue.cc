#include "actors/references/release_queue.h"

#include <limits>
#include <new>
#include <utility>

namespace troupe::detail {

/// REQUIRES: the mutex is held.
bool ReleaseQueue::must_wait(TimePoint now) {
  if (has_job_) return waiting_.size() < kWaitingMax;
  if (now - since_ >= kTime) {
    since_ = now;
    told_since_ = 0;
  }
  return ++told_since_ > kAtOnce;
}

void ReleaseQueue::add(Release release, TimePoint now) {
  bool waits = false;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (must_wait(now)) {
      try {
        waiting_.push_back(std::move(release));
        waits = true;
        is_first = !std::exchange(has_job_, true);
      } catch (const std::bad_alloc&) {  // it is told here
      }
    }
  }
  if (!waits) return tell_(release);
  if (is_first) start_job();
}

void ReleaseQueue::start_job() {
  const auto all = [this] { tell_waiting(std::numeric_limits<std::size_t>::max()); };
  try {
    run_([this] { tell_waiting(kPerJob); }, [all](const Error&) { all(); });
  } catch (const std::bad_alloc&) {  // no job will take them
    all();
  }
}

void ReleaseQueue::tell_waiting(std::size_t most) {
  for (std::size_t told = 0; told < most; ++told) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty()) {
      has_job_ = false;
      return;
    }
    const Release release = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    tell_(release);
  }
  start_job();
}

}  // namespace troupe::detail
