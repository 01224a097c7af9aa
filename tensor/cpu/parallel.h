// Splits a loop over the math threads of the calling thread.
#pragma once

#include <cstdint>

#include "tensor/math_threads.h"

namespace troupe::cpu {

/// A loop over fewer elements runs on the calling thread only: waking threads would cost more.
inline constexpr std::int64_t kParallelElements = 1 << 16;

/// Calls `body(begin, end)` for ranges that cover [0, count) once, in parallel if count * cost is large. `cost` is in
/// elements. REQUIRES: `body` does not throw, and its results do not depend on how the range is split.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t cost, const Body& body) {
  const int threads = MathThreads::current();
  if (threads == 1 || count < 2 || count * cost < kParallelElements) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  const std::int64_t chunk = (count + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int i = 0; i < threads; ++i) {
    const std::int64_t begin = i * chunk;
    const std::int64_t end = begin + chunk < count ? begin + chunk : count;
    if (begin < end) body(begin, end);
  }
}

}  // namespace troupe::cpu
