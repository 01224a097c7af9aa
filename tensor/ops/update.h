// One step of an update rule, in one pass over each parameter: reads value, gradient and states, writes the next value
// and states, and allocates no other tensor. The rules themselves are in optim/.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/kernels/update.h"
#include "tensor/tensor.h"

namespace troupe {

/// Returns the number of states of a parameter under `formula`.
[[nodiscard]] std::size_t state_count(const UpdateFormula& formula);

/// Computes all items, several in parallel. The numbers of a formula are rounded once to the dtype of the computation,
/// and every product and sum is rounded separately, so results do not depend on threads. Throws before anything is
/// written: ShapeError `[update] state 0 is not contiguous f32 (2, 3)`, ValueError `[update] 1 states instead of 2`,
/// `[update] rows are not ascending numbers below 5`; DeviceError if tensors are on different devices.
void update(std::span<UpdateItem> items);

/// Copies `rows` of `from` to the same rows of `to`, on a GPU all rows. Brings the buffer of the next value up to date
/// after a sparse step. REQUIRES: `to` and `from` are contiguous, with equal shape and dtype; `rows` as
/// UpdateItem::rows. Throws as update().
void copy_rows(Tensor& to, const Tensor& from, const Tensor& rows);

}  // namespace troupe
