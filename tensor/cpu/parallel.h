// Splitting a loop over the math threads of the calling thread.
#pragma once

#include <cstdint>

#include "tensor/math_threads.h"

namespace troupe::cpu {

/// Below this many elements a loop is not worth waking a thread.
inline constexpr std::int64_t kParallelElements = 1 << 16;

/// Calls `body(begin, end)` for ranges that cover [0, count) once, several at a time if count * cost is large, where
/// `cost` is in elements. `body` must not throw, and its results must not depend on how the range is cut.
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
