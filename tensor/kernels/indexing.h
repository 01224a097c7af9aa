// Kernels that move elements to and from places given by index. `index` is contiguous i64 and already checked; all
// tensors are contiguous; element types of source and target are equal. A GPU gives the same bits as the CPU.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::kernels {

/// What a device implements for elements picked by index tensors.
struct IndexKernels {
  /// out (outer, count, inner) = x (outer, size, inner) at `index` (count) along the middle.
  void (*take)(Tensor& out, const Tensor& x, const Tensor& index);

  /// out (outer, size, inner) at `index` += x (outer, count, inner), in the order of `index`. Their dtype is one
  /// that is computed in.
  void (*put_add)(Tensor& out, const Tensor& x, const Tensor& index);

  /// out (n) = x (n, classes) at `index` (n) of each row.
  void (*pick)(Tensor& out, const Tensor& x, const Tensor& index);

  /// out (n, classes) at `index` (n) of each row = x (n).
  void (*place)(Tensor& out, const Tensor& x, const Tensor& index);

  /// Whether all elements of `index` are in [0, size). Waits for the GPU.
  bool (*all_inside)(const Tensor& index, std::int64_t size);
};

/// For the CPU alone.
struct RowKernels {
  /// The rows of `out` (size, ...) at `index`, where none is twice, = those of `x` (size, ...).
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
