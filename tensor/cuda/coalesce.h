// Rows under the same number brought together and summed, on GPUs: what tensor/cpu/coalesce.h says holds here, with the same bits.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cuda {

/// Numbers that ascend, none twice, and the sum of the rows of each.
struct SummedRows {
  Tensor numbers;  ///< (m), i64
  Tensor rows;     ///< (m, width)
};

/// The rows of `x` (n, width), contiguous, of a dtype that is computed in, summed by `numbers` (n): contiguous i64 in
/// [0, limit). Waits for the GPU.
[[nodiscard]] SummedRows sum_by_number(const Tensor& numbers, const Tensor& x, std::int64_t limit);

/// Whether each number is above the one before. Waits for the GPU.
[[nodiscard]] bool ascends(const Tensor& numbers);

}  // namespace troupe::cuda
