// Formats dtype and shape for error texts.
#pragma once

#include <string>

#include "tensor/tensor.h"

namespace troupe::detail {

/// "f32 (2, 3)"
[[nodiscard]] inline std::string describe(const Shape& shape, DType dtype) {
  return std::string(name_of(dtype)) + " " + to_string(shape);
}

/// Returns the same for a tensor, or "undefined".
[[nodiscard]] inline std::string describe(const Tensor& tensor) {
  return tensor.defined() ? describe(tensor.shape(), tensor.dtype()) : "undefined";
}

}  // namespace troupe::detail
