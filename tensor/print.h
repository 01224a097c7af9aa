// Tensors as text.
#pragma once

#include <iosfwd>
#include <string>

#include "tensor/tensor.h"

namespace troupe {

/// Returns the elements in nested brackets, columns aligned: "[[1.  2.5]\n [3.  4. ]]". A tensor of more than 1000
/// elements shows the first and last three along each dimension. An empty tensor is "[]", an undefined one "undefined".
[[nodiscard]] std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace troupe
