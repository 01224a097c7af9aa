// One step of an update rule in one pass over each parameter: reads value, gradient and states, writes the next ones,
// and makes no other tensor. The rules themselves are optim/'s.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/kernels/update.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns how many states a parameter has under `formula`.
[[nodiscard]] std::size_t state_count(const UpdateFormula& formula);

/// Computes every item, several at a time. Numbers of the formulas are rounded once to the dtype that is computed in;
/// every product and sum is rounded by itself, so results do not depend on threads. Throws before anything is written:
/// ShapeError `[update] state 0 is not contiguous f32 (2, 3)`, ValueError `[update] 1 states instead of 2`, `[update]
/// rows are not ascending numbers below 5`; DeviceError if tensors are on different devices.
void update(std::span<UpdateItem> items);

/// Gives these rows of `to` the elements that they have in `from`, and reads and writes no others: how the place of the
/// next value catches up. Both are contiguous and alike; `rows` are as those of an item. Throws as update().
void copy_rows(Tensor& to, const Tensor& from, const Tensor& rows);

}  // namespace troupe
