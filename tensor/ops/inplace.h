// In-place operations: they write the result into the first operand and return it. Every tensor that shares its memory
// sees the new elements, and Tensor::version() increases.
//
// The first operand keeps its shape, dtype and layout; the other one broadcasts to it and may alias it. The result is
// that of the operation without `_`, converted: an f64 result may go into f32, a floating result not into integers, and
// only a boolean result into booleans. Views write through to their base: `add_(x.slice(0, 0, 2), y)`. Throws as the
// operation without `_`, and before anything is written
//   ShapeError  `[add_] (3) does not broadcast to (2)`,
//               `[add_] one element is written more than once: (2, 3) strides (0, 1)` after expand(),
//   DTypeError  `[div_] a result of f32 does not fit into i64`.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

/// x + alpha * other. For integers alpha is an integer. Each product is rounded before the sum.
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
/// Copies `source`, from any device and of any dtype, converted as by Tensor::to().
Tensor copy_(Tensor x, const Tensor& source);

}  // namespace troupe
