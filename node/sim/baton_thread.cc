#include "node/sim/baton_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "node/sim/node_killed.h"
#include "tensor/math_threads.h"

namespace troupe::sim {

namespace {

// What the clock can represent from now on.
constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);

}  // namespace

BatonThread::BatonThread(std::shared_ptr<Schedule> schedule, std::shared_ptr<Processor> processor,
                         Duration report_after)
    : schedule_(std::move(schedule)),
      processor_(std::move(processor)),
      report_after_(std::min(report_after, kLongest)),
      thread_([this] { run(); }) {}

BatonThread::~BatonThread() {
  to_function_.release();
  thread_.join();
}

void BatonThread::begin(std::string name, std::function<void()> function) {
  name_ = std::move(name);
  function_ = std::move(function);
  killed_ = false;
  switch_over();
}

void BatonThread::unwind() {
  killed_ = true;
  switch_over();
}

bool BatonThread::may_go_on() const {
  return point_ != nullptr && (point_->signalled() || (due_ && *due_ <= schedule_->now()));
}

bool BatonThread::wait(detail::WaitPoint& point, std::optional<TimePoint> due) {
  if (!killed_) {
    point_ = &point;
    due_ = due;
    to_world_.give();
    to_function_.acquire();
    schedule_->take_baton();
    point_ = nullptr;
    due_.reset();
  }
  if (!killed_) return point.signalled();
  if (BlockingHook::may_throw()) throw NodeKilled{};
  if (!point.signalled()) {
    // Thrown from a destructor, NodeKilled would end the process without a message.
    fmt::print(stderr, "[sim] a destructor on a killed node waits for what will never come\n");
    std::abort();
  }
  return true;
}

void BatonThread::run() {
  const MathThreads one(1);
  const detail::BlockingHook::Guard guard(*this);
  for (to_function_.acquire(); function_; to_function_.acquire()) {
    schedule_->take_baton();
    try {
      function_();
    } catch (const NodeKilled&) {
      // Its node is dead: no one is notified.
    }
    function_ = nullptr;  // its captures may be user code as well
    to_world_.give();
  }
}

void BatonThread::Returned::give() {
  const std::lock_guard lock(mutex_);
  is_here_ = true;
  came_.notify_one();
}

bool BatonThread::Returned::take_until(std::optional<TimePoint> due) {
  std::unique_lock lock(mutex_);
  const auto is_here = [this] { return is_here_; };
  if (!due) came_.wait(lock, is_here);
  if (due && !came_.wait_until(lock, *due, is_here)) return false;
  is_here_ = false;
  return true;
}

void BatonThread::switch_over() {
  processor_->bring(thread_, at_);
  to_function_.release();
  const auto due = [this] { return later(std::chrono::steady_clock::now(), report_after_); };
  for (int misses = 1; !to_world_.take_until(due()); ++misses) report_computing(misses * report_after_);
  schedule_->take_baton();
}

/// Writes to standard error: the log may be the trace, which a test prints at its end.
void BatonThread::report_computing(Duration time) const {
  fmt::print(stderr,
             "[sim] seed {}: {} has computed for {:.3g} s without a wait of the runtime: a lock held over a wait, a "
             "poll of ready(), a sleep?\n",
             schedule_->seed(), name_, std::chrono::duration<double>(time).count());
  std::fflush(stderr);
}

std::unique_ptr<BatonThread> BatonThreads::take() {
  if (idle_.empty()) return std::make_unique<BatonThread>(schedule_, processor_, report_after_);
  auto thread = std::move(idle_.back());
  idle_.pop_back();
  return thread;
}

}  // namespace troupe::sim
