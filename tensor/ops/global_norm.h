// The norm of several tensors taken together, for example all gradients of a model.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace troupe {

/// Returns (sum |x|^p)^(1/p) over all elements of all `xs`, the largest |x| for a `p` of infinity; 0 without elements.
/// The tensors have floating dtypes and any shapes, on one device. Sums run in f64, in an order that depends neither on
/// threads nor on layouts. Waits for a GPU. Not finite if an element is not finite.
/// Throws ValueError `[global_norm] p not above 0: 0`, DTypeError `[global_norm] needs a floating dtype: i64`,
/// DeviceError, TensorError `[global_norm] tensor is undefined`.
[[nodiscard]] double global_norm(std::span<const Tensor> xs, double p = 2.0);

/// Returns the square of global_norm(xs), before the root is taken. Sums of several nodes are added without rounding
/// twice. Throws as global_norm().
[[nodiscard]] double sum_of_squares(std::span<const Tensor> xs);

}  // namespace troupe
