// Operations that write their result into the first operand, for whoever owns its memory: every tensor that shares the
// memory sees the new elements, and Tensor::version() grows.
//
// The operand keeps its shape, dtype and layout; the other one broadcasts to it. The value is that of the operation of
// the same name without `_`, converted: the result of f64 goes into an f32, one of reals not into integers, one that is
// not boolean not into booleans. Views are written through, `add_(x.slice(0, 0, 2), y)`. The other operand may share
// the memory. Returns the first operand. Throws as the operation without `_`, and before anything is written
//   ShapeError  `[add_] (3) does not broadcast to (2)`,
//               `[add_] one element is written more than once: (2, 3) strides (0, 1)` after expand(),
//   DTypeError  `[div_] a result of f32 does not fit into i64`.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// x + alpha * other; beside integers alpha is one. Each product is rounded before the sum.
Tensor add_(Tensor x, const Tensor& other, double alpha = 1.0);
Tensor add_(Tensor x, double other);
/// x - alpha * other
Tensor sub_(Tensor x, const Tensor& other, double alpha = 1.0);
Tensor sub_(Tensor x, double other);
Tensor mul_(Tensor x, const Tensor& other);
Tensor mul_(Tensor x, double other);
Tensor div_(Tensor x, const Tensor& other);
Tensor div_(Tensor x, double other);
/// Each element limited to [low, high].
Tensor clamp_(Tensor x, double low, double high);

Tensor fill_(Tensor x, double value);
Tensor zero_(Tensor x);
/// The elements of `source`, from whichever device, of any dtype: converted as by Tensor::to().
Tensor copy_(Tensor x, const Tensor& source);

}  // namespace troupe
