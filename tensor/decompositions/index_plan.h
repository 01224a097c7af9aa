// Arguments with which other operations implement those of ops/index.h, for tensors and for variables.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace troupe::detail {

/// The shapes to which take_along_dim expands its operands for gather. Throws as take_along_dim.
struct TakeShapes {
  Shape x;
  Shape index;
};
[[nodiscard]] TakeShapes take_along_shapes(const Shape& x, const Shape& index, int dim);

/// Returns the mask for masked_fill of `x`: true at the parts along `dim` that the 1-D `index` gives.
[[nodiscard]] Tensor parts_mask(std::string_view op, const Tensor& x, int dim, const Tensor& index);

/// Returns the index for scatter that writes part i of `source` to index[i]. Throws as index_copy.
[[nodiscard]] Tensor copy_places(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// Returns for each element of `x` the index of its element in the flattened `source`, valid where `mask` is true and
/// arbitrary elsewhere. Returns an undefined tensor if `mask` is false everywhere. Throws as masked_scatter.
[[nodiscard]] Tensor mask_places(const Tensor& x, const Tensor& mask, const Tensor& source);

}  // namespace troupe::detail
