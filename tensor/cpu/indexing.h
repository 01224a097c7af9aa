// Kernels that move elements to and from places given by index. `index` is contiguous i64 and already checked; all
// tensors are contiguous; element types of source and target are equal.
#pragma once

#include "tensor/tensor.h"

namespace troupe::cpu {

/// out (outer, count, inner) = x (outer, size, inner) at `index` (count) along the middle.
void take(Tensor& out, const Tensor& x, const Tensor& index);

/// out (outer, size, inner) at `index` += x (outer, count, inner), in the order of `index`. Their dtype is one
/// that is computed in.
void put_add(Tensor& out, const Tensor& x, const Tensor& index);

/// The rows of `out` (size, ...) at `index`, where none is twice, = those of `x` (size, ...).
void copy_rows(Tensor& out, const Tensor& x, const Tensor& index);

/// out (n) = x (n, classes) at `index` (n) of each row.
void pick(Tensor& out, const Tensor& x, const Tensor& index);

/// out (n, classes) at `index` (n) of each row = x (n).
void place(Tensor& out, const Tensor& x, const Tensor& index);

}  // namespace troupe::cpu
