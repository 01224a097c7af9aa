// Kernels that fill tensors with random numbers. REQUIRES: `out` is contiguous. Element i is made of block i of
// `draws`, unless stated otherwise.
//
// A GPU draws the same bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/kernels/random_formulas.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

/// Returns the next `count` blocks of `generator` and advances it past them.
inline Draws next_draws(Generator& generator, std::int64_t count) {
  return {generator.seed(), generator.stream(), generator.skip(static_cast<std::uint64_t>(count))};
}

/// The random number kernels of a device.
struct RandomKernels {
  /// Fills `out`, f32 or f64, with draws from `distribution`.
  void (*draw_reals)(Tensor& out, const RealDistribution& distribution, const Draws& draws);

  /// out, i64, = low + (an integer in [0, range)). Returns false if Generator::below() would have repeated a draw; then
  /// `out` is not valid.
  bool (*draw_integers)(Tensor& out, std::int64_t low, std::uint64_t range, const Draws& draws);

  /// out, f32 or f64, = 0 with `probability`, else 1 / (1 - probability). Elements 4 i ... 4 i + 3 are made of block i.
  void (*draw_dropout_mask)(Tensor& out, double probability, const Draws& draws);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::RandomKernels random_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::RandomKernels random_kernels;
}  // namespace troupe::cuda
