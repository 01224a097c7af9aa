// Kernels of embedding bags. All tensors are contiguous; `index` and `offsets` are i64 and checked.
//
// A GPU gives the same bits as the CPU, except for bag_scales_backward.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// Bag b has the entries offsets[b] ... offsets[b + 1] - 1 of `index`. `scales` has one element per entry, f32 or f64;
/// undefined: all 1.
struct Bags {
  Tensor index;
  Tensor offsets;
  Tensor scales{};
  std::int64_t padding = -1;  ///< entries of this row are left out; -1: none

  [[nodiscard]] std::int64_t count() const { return offsets.numel() - 1; }
};

/// The embedding bag kernels of a device.
struct BagKernels {
  /// scales (entries) = 1 / the number of entries of the same bag that are not left out. Dtype: f32 or f64.
  void (*bag_mean_scales)(Tensor& scales, const Bags& bags);

  /// out (bags, width) = the sum of scale * row over the entries of each bag, rounded once. `weight` (rows, width) has
  /// the dtype of `out`, which may have 16 bits.
  void (*bag_sum)(Tensor& out, const Tensor& weight, const Bags& bags);

  /// out (bags, width) = the largest element of each column over the entries of a bag; NaN is largest. Of equal
  /// elements the first counts, of several NaN the last. 0 for an empty bag. where (bags, width), i64, is the entry of
  /// each result, or -1.
  void (*bag_max)(Tensor& out, Tensor& where, const Tensor& weight, const Bags& bags);

  /// The gradient of bag_sum: out (rows, width) += scale * grad[bag] for every entry, in the order of the entries. grad
  /// (bags, width) and `out` have one dtype, f32 or f64.
  void (*bag_add)(Tensor& out, const Tensor& grad, const Bags& bags);

  /// The same as values (entries, width), a row per entry. Rows of entries left out are not written.
  void (*bag_values)(Tensor& values, const Tensor& grad, const Bags& bags);

  /// The gradients of bag_max, in the forms of bag_add and bag_values.
  void (*bag_max_add)(Tensor& out, const Tensor& grad, const Tensor& where, const Bags& bags);
  void (*bag_max_values)(Tensor& values, const Tensor& grad, const Tensor& where);

  /// out (entries) = the sum of grad[bag] * row: the gradient by the scales; 0 for entries left out. `weight` has the
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
