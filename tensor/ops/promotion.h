// The dtype of an operation on tensors and numbers: the rule of dtype.h extended to scalars. For the sources of this
// folder and of autograd/.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the dtype of an operation on `operands`. Tensors with dimensions promote each other (promote()). A scalar (a
/// 0-dimensional tensor) takes part only if its kind is higher than theirs, in the order boolean, integer, floating:
///
///     f32 (3) with f64 () is f32      i32 (3) with f64 () is f64
///     u8 (3) with i64 () is u8        f32 () with f64 () is f64
///
/// As PyTorch's torch.result_type.
[[nodiscard]] DType promoted(std::initializer_list<const Tensor*> operands);
[[nodiscard]] inline DType promoted(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() ? a.dtype() : promoted({&a, &b});
}

/// Returns the dtype of an operation on a tensor and a number. A whole number within 64 bits is an integer: it turns
/// boolean into i64. Any other number turns booleans and integers into f32.
[[nodiscard]] DType promoted(DType dtype, double number);

}  // namespace troupe::detail
