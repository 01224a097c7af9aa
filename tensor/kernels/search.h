// Kernel that looks values up among sorted ones.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// Where a value goes that is there already: before its equals or behind them.
enum class Side : std::uint8_t { left, right };

}  // namespace troupe

namespace troupe::kernels {

/// What a device implements for searches in sorted rows.
struct SearchKernels {
  /// out (rows, n), i64 = the place of each element of `values` (rows, n) in the ascending `sorted` (rows, m). All
  /// contiguous; `sorted` and `values` of one dtype that is computed in.
  void (*search)(Tensor& out, const Tensor& sorted, const Tensor& values, Side side);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::SearchKernels search_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::SearchKernels search_kernels;
}  // namespace troupe::cuda
