#include "tests/bench/rpc/floors/adds_floor.h"

#include <stdexcept>

#include "tests/bench/figures.h"

namespace troupe::bench {
namespace {

/// Vectorized also where the build is not optimized, as Troupe's kernels are.
__attribute__((target_clones("avx2", "default"), optimize("O3"), noinline)) void add_one(const float* from, float* to,
                                                                                         std::size_t floats) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < floats; ++i) to[i] = from[i] + 1.0F;
}

}  // namespace

std::vector<double> adds_floor(std::size_t count, std::size_t times, std::size_t floats) {
  std::vector<float> one(floats);
  std::vector<float> other(floats);
  auto samples = times_of(count, [&] {
    for (std::size_t i = 0; i < times; ++i) {
      add_one(one.data(), other.data(), floats);
      one.swap(other);
    }
  });
  if (one.front() != static_cast<float>(times * (count + 1))) throw std::logic_error("the floor adds wrongly");
  return samples;
}

}  // namespace troupe::bench
