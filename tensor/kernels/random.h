// Kernels that fill tensors with random numbers. `out` is contiguous; element i is made of block i of `draws`.
//
// A GPU draws the same bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/generator.h"
#include "tensor/kernels/random_formulas.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

/// The next `count` blocks of `generator`, which passes over them.
inline Draws next_draws(Generator& generator, std::int64_t count) {
  return {generator.seed(), generator.stream(), generator.skip(static_cast<std::uint64_t>(count))};
}

/// What a device implements for random numbers.
struct RandomKernels {
  /// Of f32 or f64.
  void (*draw_reals)(Tensor& out, const RealDistribution& distribution, const Draws& draws);

  /// low + (an integer below `range`), of i64. Returns false if a draw of Generator::below() would have been repeated:
  /// then `out` holds nothing of use.
  bool (*draw_integers)(Tensor& out, std::int64_t low, std::uint64_t range, const Draws& draws);

  /// 0 with `probability`, else 1 / (1 - probability), of f32 or f64. Elements 4 i ... 4 i + 3 are made of block i.
  void (*draw_dropout_mask)(Tensor& out, double probability, const Draws& draws);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::RandomKernels random_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::RandomKernels random_kernels;
}  // namespace troupe::cuda
