// Splits a loop over the math threads of the calling thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "tensor/cpu/thread_team.h"
#include "tensor/math_threads.h"

namespace troupe::cpu {

/// A loop over fewer elements runs on the calling thread only: waking threads would cost more.
inline constexpr std::int64_t kParallelElements = 1 << 16;

/// Keeps the first exception of several threads. None may leave an OpenMP region.
class FirstException {
 public:
  /// Stores the exception that is being handled, unless there was one before.
  void keep() noexcept {
    if (!is_kept_.test_and_set()) exception_ = std::current_exception();
  }
  /// Throws the stored exception, if there is one. REQUIRES: no other thread uses this any more.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::atomic_flag is_kept_;
  std::exception_ptr exception_;
};

/// Calls `body(begin, end)` for ranges that cover [0, count) once, in parallel if count * cost is large. `cost` is in
/// elements. If `body` throws (memory that it cannot allocate), throws one of its exceptions once all threads are done.
/// REQUIRES: the results of `body` do not depend on how the range is split.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t cost, const Body& body) {
  if (MathThreads::current() == 1 || count < 2 || count * cost < kParallelElements) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  const ThreadTeam team;
  const int threads = team.size();
  FirstException thrown;
  const std::int64_t chunk = (count + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) {
    const std::int64_t begin = i * chunk;
    const std::int64_t end = begin + chunk < count ? begin + chunk : count;
    if (begin >= end) continue;
    try {
      body(begin, end);
    } catch (...) {
      thrown.keep();
    }
  }
  thrown.rethrow();
}

}  // namespace troupe::cpu
