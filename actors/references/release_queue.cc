#include "actors/references/release_queue.h"

#include <algorithm>
#include <new>
#include <utility>

namespace troupe::detail {

/// REQUIRES: the mutex is held.
bool ReleaseQueue::must_wait(TimePoint now) {
  if (now - since_ >= kTime) {
    since_ = now;
    told_since_ = 0;
  }
  return ++told_since_ > kAtOnce && waiting_.size() < kWaitingMax;
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
  try {
    run_([this] { run_job(); }, [this](const Error&) { tell_all(); });
  } catch (const std::bad_alloc&) {  // no job will take them
    tell_all();
  }
}

/// Tells those that wait by now: on a busy pool the next job may begin much later.
void ReleaseQueue::run_job() {
  std::size_t left = 0;
  {
    const std::lock_guard lock(mutex_);
    left = std::max(kPerJob, waiting_.size());
  }
  for (; left > 0; --left) {
    if (!tell_first()) return;
  }
  start_job();
}

void ReleaseQueue::tell_all() {
  while (tell_first()) continue;
}

/// Returns false if none waits.
bool ReleaseQueue::tell_first() {
  std::unique_lock lock(mutex_);
  if (waiting_.empty()) {
    has_job_ = false;
    return false;
  }
  const Release release = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  tell_(release);
  return true;
}

}  // namespace troupe::detail
