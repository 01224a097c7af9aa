// What operations of ops/index.h are on tensors and on variables alike: other operations, with these arguments.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Shapes to which operands of take_along_dim are expanded for gather. Throws as take_along_dim.
struct TakeShapes {
  Shape x;
  Shape index;
};
[[nodiscard]] TakeShapes take_along_shapes(const Shape& x, const Shape& index, int dim);

/// For masked_fill of `x`: which parts along `dim` the 1-D `index` names.
[[nodiscard]] Tensor parts_mask(std::string_view op, const Tensor& x, int dim, const Tensor& index);

/// The index of scatter that puts part i of `source` at place index[i]. Throws as index_copy.
[[nodiscard]] Tensor copy_places(const Tensor& x, int dim, const Tensor& index, const Tensor& source);

/// For each element of `x` which of the flattened `source` it gets where `mask` holds, and some other elsewhere; undefined
/// if it holds nowhere. Throws as masked_scatter.
[[nodiscard]] Tensor mask_places(const Tensor& x, const Tensor& mask, const Tensor& source);

}  // namespace troupe::detail
