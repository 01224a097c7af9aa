#include "tests/scenarios/delaying_link.h"

#include <utility>

namespace troupe::testing {

DelayingLink::DelayingLink(std::unique_ptr<Link> inner, std::uint64_t seed, std::chrono::microseconds delay_max)
    : inner_(std::move(inner)), delay_max_(delay_max), random_(seed), thread_([this] { deliver(); }) {}

DelayingLink::~DelayingLink() { stop(); }

void DelayingLink::send(const NodeName& to, Frames frames) {
  {
    const std::lock_guard lock(mutex_);
    std::uniform_int_distribution<std::int64_t> delay(0, delay_max_.count());
    held_.push({std::chrono::steady_clock::now() + std::chrono::microseconds(delay(random_)), to, std::move(frames)});
  }
  changed_.notify_one();
}

void DelayingLink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  inner_->stop();
}

void DelayingLink::deliver() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (held_.empty()) {
      changed_.wait(lock);
    } else if (const Instant due = held_.top().due; due > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, due);
    } else {
      const Held message = held_.top();
      held_.pop();
      lock.unlock();
      inner_->send(message.to, message.frames);
      lock.lock();
    }
  }
}

LocalClusterOptions random_delays(std::uint64_t seed, std::chrono::microseconds delay_max) {
  LocalClusterOptions options;
  options.wrap_link = [seed, delay_max, next = std::make_shared<std::uint64_t>(0)](std::unique_ptr<Link> link) {
    return std::make_unique<DelayingLink>(std::move(link), seed * 16 + (*next)++, delay_max);
  };
  return options;
}

}  // namespace troupe::testing
