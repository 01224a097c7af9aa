#include "tensor/cpu/thread_team.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "tensor/math_threads.h"

namespace troupe::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPause{1};  // between attempts after a refusal

/// Threads created to learn that the system gives them. They wait until the gate is destroyed.
class Trial {
 public:
  /// Creates up to `count` threads.
  explicit Trial(std::size_t count) noexcept {
    while (created_ < std::min(count, threads_.size())) {
      // As libgomp does: with default attributes.
      if (::pthread_create(&threads_[created_], nullptr, &wait, this) != 0) return;
      ++created_;
    }
  }
  ~Trial() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_all();
    for (std::size_t i = 0; i < created_; ++i) ::pthread_join(threads_[i], nullptr);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] std::size_t created() const noexcept { return created_; }

 private:
  static void* wait(void* trial) {
    auto& self = *static_cast<Trial*>(trial);
    std::unique_lock lock(self.mutex_);
    self.ended_.wait(lock, [&] { return self.over_; });
    return nullptr;
  }

  std::array<pthread_t, 1024> threads_{};
  std::size_t created_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by mutex_
};

/// What this thread knows of its team.
struct Known {
  int size = 1;              // of the last loop that used several, itself included
  Clock::time_point next{};  // no attempt before
};
thread_local Known known;

/// Threads of this process that try at the same time would take each other's room.
std::mutex trials;

/// Returns how many of `wanted` threads a loop of this thread may use now.
int usable(int wanted) noexcept {
  if (wanted == 1 || omp_in_parallel() != 0) return wanted;
  if (wanted <= known.size) return known.size = wanted;  // libgomp lets the others end
  if (Clock::now() < known.next) return known.size;
  const auto more = static_cast<std::size_t>(wanted - known.size);
  const std::lock_guard lock(trials);
  std::size_t gained = 0;
  {
    // Twice as many: a thread that has ended may count for the system a little longer.
    const Trial trial(2 * more);
    gained = std::min(more, trial.created() / 2);
  }
  if (gained < more) known.next = Clock::now() + kPause;
  known.size += static_cast<int>(gained);
  // libgomp creates its threads now, before others take the room. The compiler would leave out an empty loop.
  std::atomic<int> begun = 0;
#pragma omp parallel num_threads(known.size)
  begun.fetch_add(1, std::memory_order_relaxed);
  return known.size;
}

}  // namespace

ThreadTeam::ThreadTeam() noexcept : wanted_(MathThreads::current()), size_(usable(wanted_)) {
  if (size_ != wanted_) omp_set_num_threads(size_);
}

ThreadTeam::~ThreadTeam() {
  if (size_ != wanted_) omp_set_num_threads(wanted_);
}

}  // namespace troupe::cpu
