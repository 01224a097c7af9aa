// Rows under the same number brought together and summed: what coalesce() of a sparse tensor does.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::cpu {

/// Which of n rows have the same number. All are i64 of one dimension.
struct Runs {
  Tensor numbers;  ///< ascending, none twice
  Tensor begins;   ///< of each number in `order`; n at the end
  Tensor order;    ///< the rows by number, those of one number as they were given
};

/// The runs of `numbers`, contiguous i64 of one dimension, at least 0 and below `limit`. Time: their count times the digits
/// of `limit`.
[[nodiscard]] Runs runs_of(const Tensor& numbers, std::int64_t limit);

/// out (numbers, width) = for each number the sum of its rows of `x` (n, width), one after the other from the first on,
/// which no number of threads changes. Both are contiguous, of one dtype that is computed in.
void sum_runs(Tensor& out, const Tensor& x, const Runs& runs);

}  // namespace troupe::cpu
