#include "node/sim/processor.h"

#include <pthread.h>

#include <ctime>

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 20ms;
constexpr std::uint64_t kHandoversPerLook = 256;

/// Returns how long this process has computed, in all of its threads.
std::chrono::nanoseconds computed() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

cpu_set_t only(int number) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(number, &set);
  return set;
}

}  // namespace

Processor::Stay::Stay(Processor& processor) : processor_(processor) { processor_.enter(); }

Processor::Stay::~Stay() { processor_.leave(); }

void Processor::enter() {
  if (depth_++ > 0) return;
  allowed_.clear();
  if (::sched_getaffinity(0, sizeof before_, &before_) != 0) CPU_ZERO(&before_);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &before_)) allowed_.push_back(i);
  }
  if (allowed_.size() < 2) {
    number_ = kNone;
    return;
  }
  if (number_ == kNone || !CPU_ISSET(number_, &before_)) number_ = ::sched_getcpu();
  stay_at(number_);
  look();
}

void Processor::leave() {
  if (--depth_ > 0 || number_ == kNone) return;
  ::sched_setaffinity(0, sizeof before_, &before_);
}

void Processor::bring(std::thread& thread, int& at) {
  if (depth_ == 0 || number_ == kNone) return;
  if (++handovers_ >= kHandoversPerLook) look();
  if (at == number_) return;
  const cpu_set_t here = only(number_);
  if (::pthread_setaffinity_np(thread.native_handle(), sizeof here, &here) == 0) at = number_;
}

/// Moves to another processor if this one gave the world less than three quarters of the time.
void Processor::look() {
  handovers_ = 0;
  const Time now = std::chrono::steady_clock::now();
  const auto passed = now - looked_at_;
  if (passed < kLookEvery) return;
  const auto total = computed();
  const bool is_shared = total - computed_ < passed * 3 / 4;
  looked_at_ = now;
  computed_ = total;
  if (is_shared) stay_at(allowed_[random_() % allowed_.size()]);
}

/// Moves the calling thread.
void Processor::stay_at(int number) {
  const cpu_set_t here = only(number);
  number_ = ::sched_setaffinity(0, sizeof here, &here) == 0 ? number : kNone;
}

}  // namespace troupe::sim
