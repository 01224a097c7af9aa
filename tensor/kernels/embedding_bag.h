// Kernels of bags of rows. All tensors are contiguous; `index` and offsets are i64 and checked.
//
// A GPU gives the same bits as the CPU, but for the gradient by the scales.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Entries offsets[b] ... offsets[b + 1] - 1 of `index` are bag b. `scales`, one per entry, are of the dtype that
/// is computed in; undefined: 1.
struct Bags {
  Tensor index;
  Tensor offsets;
  Tensor scales{};
  std::int64_t padding = -1;  ///< the row that is left out, or -1

  [[nodiscard]] std::int64_t count() const { return offsets.numel() - 1; }
};

/// What a device implements for embedding bags.
struct BagKernels {
  /// scales (entries) = 1 over the number of entries in the bag that count. Of a dtype that is computed in.
  void (*bag_mean_scales)(Tensor& scales, const Bags& bags);

  /// out (bags, width) = the sum of scale * row over the entries of each bag, rounded once. `weight` (rows, width) has
  /// the dtype of `out`, which may be of 16 bits.
  void (*bag_sum)(Tensor& out, const Tensor& weight, const Bags& bags);

  /// out (bags, width) = the largest elements, of equal ones the first, 0 of nothing; a NaN is largest. where (bags,
  /// width), i64, takes the entries they come from, or -1.
  void (*bag_max)(Tensor& out, Tensor& where, const Tensor& weight, const Bags& bags);

  /// The gradient of bag_sum: out (rows, width) += scale * grad[bag] for every entry, in their order. grad (bags,
  /// width) and `out` have a dtype that is computed in.
  void (*bag_add)(Tensor& out, const Tensor& grad, const Bags& bags);

  /// The same as values (entries, width) for each entry, but those left out.
  void (*bag_values)(Tensor& values, const Tensor& grad, const Bags& bags);

  /// The gradients of bag_max, as bag_add and bag_values give them.
  void (*bag_max_add)(Tensor& out, const Tensor& grad, const Tensor& where, const Bags& bags);
  void (*bag_max_values)(Tensor& values, const Tensor& grad, const Tensor& where);

  /// out (entries) = the sum of grad[bag] * row: the gradient by the scales, 0 for those left out. `weight` has the
  /// dtype of `grad`.
  void (*bag_scales_backward)(Tensor& out, const Tensor& grad, const Tensor& weight, const Bags& bags);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::BagKernels bag_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::BagKernels bag_kernels;
}  // namespace troupe::cuda
