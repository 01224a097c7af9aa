// Kernels that move elements to and from places given by an index. REQUIRES: all tensors are contiguous; `index` is i64
// and checked; source and target have one dtype. A GPU gives the same bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The index kernels of a device.
struct IndexKernels {
  /// out (outer, count, inner) = x (outer, size, inner) at `index` (count) along the middle dimension.
  void (*take)(Tensor& out, const Tensor& x, const Tensor& index);

  /// out (outer, size, inner) at `index` += x (outer, count, inner), in the order of `index`. Dtype: a compute dtype.
  void (*put_add)(Tensor& out, const Tensor& x, const Tensor& index);

  /// out (n) = x (n, classes) at place `index` (n) of each row.
  void (*pick)(Tensor& out, const Tensor& x, const Tensor& index);

  /// Writes x (n) to place `index` (n) of each row of out (n, classes).
  void (*place)(Tensor& out, const Tensor& x, const Tensor& index);

  /// Returns whether all elements of `index` are in [0, size). Waits for the GPU.
  bool (*all_inside)(const Tensor& index, std::int64_t size);
};

/// CPU only.
struct RowKernels {
  /// Copies the rows `index` of `x` (size, ...) to the same rows of `out`. REQUIRES: `index` has no element twice.
  void (*copy_rows)(Tensor& out, const Tensor& x, const Tensor& index);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::IndexKernels index_kernels;
extern const kernels::RowKernels row_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::IndexKernels index_kernels;
}  // namespace troupe::cuda
