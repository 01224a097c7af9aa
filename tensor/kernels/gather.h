// Kernels that move single elements between places given by an index of the same rank. REQUIRES: `index` is contiguous
// i64 and checked; `dim` counts from the front. A GPU gives the same bits as the CPU.
#pragma once

#include "tensor/tensor.h"

namespace troupe::kernels {

/// The gather and scatter kernels of a device.
struct GatherKernels {
  /// out[..., j, ...] = x[..., index[..., j, ...], ...] along `dim`. REQUIRES: `out` is contiguous, with the shape of
  /// `index` and the dtype of `x`; every other size of `x` is at least that of `index`.
  void (*gather)(Tensor& out, const Tensor& x, int dim, const Tensor& index);

  /// out[..., index[..., j, ...], ...] += x[..., j, ...] for each element of `index`, in row-major order. REQUIRES:
  /// `out` and `x` have one compute dtype; every size of `x`, and of `out` except along `dim`, is at least that of
  /// `index`.
  void (*scatter_add)(Tensor& out, int dim, const Tensor& index, const Tensor& x);

  /// out[..., index[..., j, ...], ...] = x[..., j, ...] for each element of `index`, in row-major order: the last write
  /// to a place wins. REQUIRES: `out` and `x` have one dtype; sizes as for scatter_add.
  void (*scatter)(Tensor& out, int dim, const Tensor& index, const Tensor& x);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::GatherKernels gather_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::GatherKernels gather_kernels;
}  // namespace troupe::cuda
