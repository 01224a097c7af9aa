// The dtype of an operation on tensors and numbers: what dtype.h says of dtypes, and what scalars add to it. For the sources
// of this folder and autograd's.
#pragma once

#include <initializer_list>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns the dtype of an operation on these. Tensors with dimensions promote each other (promote()). A scalar, one without
/// dimensions, counts only where it is of a higher kind than they are, of the order boolean, integers, floats:
///
///     f32 (3) with f64 () is f32      u8 (3) with i64 () is u8      i32 (3) with f64 () is f64      f32 () with f64 () is f64
///
/// As PyTorch's torch.result_type.
[[nodiscard]] DType promoted(std::initializer_list<const Tensor*> operands);
[[nodiscard]] inline DType promoted(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() ? a.dtype() : promoted({&a, &b});
}

/// With a number, which is an integer if it is whole and fits into 64 bits: it makes booleans i64. A real number makes booleans and
/// integers f32.
[[nodiscard]] DType promoted(DType dtype, double number);

}  // namespace troupe::detail
