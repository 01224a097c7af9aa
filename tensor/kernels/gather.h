// Kernels that move single elements between places given by an index of the same rank. `index` is contiguous i64 and
// already checked; `dim` is counted from the front. A GPU gives the same bits as the
// CPU.
#pragma once

#include "tensor/tensor.h"

namespace troupe::kernels {

/// What a device implements for rows and elements picked by index.
struct GatherKernels {
  /// out[..., j, ...] = x[..., index[..., j, ...], ...] along `dim`. `out` is contiguous and has the shape of `index`;
  /// no other size of `x` is smaller. Dtypes of `out` and `x` are equal.
  void (*gather)(Tensor& out, const Tensor& x, int dim, const Tensor& index);

  /// out[..., index[..., j, ...], ...] += x[..., j, ...] for each element of `index`, in row-major order. Dtypes of
  /// `out` and `x` are equal and ones that operations are computed in; no size of `x` and, beside `dim`, of `out` is
  /// below that of `index`.
  void (*scatter_add)(Tensor& out, int dim, const Tensor& index, const Tensor& x);

  /// out[..., index[..., j, ...], ...] = x[..., j, ...] for each element of `index`, in row-major order: of several for
  /// one place the last stays. Dtypes of `out` and `x` are equal; sizes as for scatter_add.
  void (*scatter)(Tensor& out, int dim, const Tensor& index, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::GatherKernels gather_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::GatherKernels gather_kernels;
}  // namespace troupe::cuda
