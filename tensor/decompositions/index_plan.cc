#include "tensor/decompositions/index_plan.h"

#include <fmt/format.h>

#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/scan.h"

namespace troupe::detail {
namespace {

// Returns a shape of ones with `size` at `dim`.
Shape along(int rank, int dim, std::int64_t size) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(i == dim ? size : 1);
  return shape;
}

}  // namespace

TakeShapes take_along_shapes(const Shape& x, const Shape& index, int dim) {
  constexpr std::string_view kName = "take_along_dim";
  const int at = normalize_dim(kName, dim, x);
  if (x.size() != index.size()) {
    throw ShapeError(fmt::format("[{}] dimensions differ: {} and {}", kName, to_string(x), to_string(index)));
  }
  TakeShapes shapes{x, index};
  shapes.x[at] = shapes.index[at] = 1;
  shapes.x = shapes.index = broadcast_shapes(kName, shapes.x, shapes.index);
  shapes.x[at] = x[at];
  shapes.index[at] = index[at];
  return shapes;
}

Tensor parts_mask(std::string_view op, const Tensor& x, int dim, const Tensor& index) {
  require_together(op, x, index);
  require_rank(op, index.shape(), 1);
  const int at = normalize_dim(op, dim, x.shape());
  const Tensor places = checked_index(op, index, x.shape()[at]);
  return scatter(zeros({x.shape()[at]}, DType::boolean, x.device()), 0, places, 1.0)
      .view(along(x.dim(), at, x.shape()[at]));
}

Tensor copy_places(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  constexpr std::string_view kName = "index_copy";
  require_together(kName, x, index);
  require_together(kName, x, source);
  require_same_dtype(kName, x, source);
  require_rank(kName, index.shape(), 1);
  const int at = normalize_dim(kName, dim, x.shape());
  Shape expected = x.shape();
  expected[at] = index.numel();
  if (source.shape() != expected) {
    throw ShapeError(
        fmt::format("[{}] source does not fit: {} for {}", kName, to_string(source.shape()), to_string(expected)));
  }
  const Tensor places = checked_index(kName, index, x.shape()[at]);
  return places.view(along(x.dim(), at, index.numel())).expand(expected);
}

Tensor mask_places(const Tensor& x, const Tensor& mask, const Tensor& source) {
  constexpr std::string_view kName = "masked_scatter";
  require_together(kName, x, mask);
  require_together(kName, x, source);
  require_same_dtype(kName, x, source);
  if (mask.dtype() != DType::boolean)
    throw DTypeError(fmt::format("[{}] mask is not boolean: {}", kName, name_of(mask.dtype())));
  if (!broadcasts_to(mask.shape(), x.shape())) {
    throw ShapeError(
        fmt::format("[{}] mask does not fit: {} for {}", kName, to_string(mask.shape()), to_string(x.shape())));
  }
  const Tensor counts = cumsum(mask.expand(x.shape()).reshape({x.numel()}), 0);
  const auto places = x.numel() == 0 ? 0 : counts.select(0, -1).item<std::int64_t>();
  if (places > source.numel())
    throw ValueError(fmt::format("[{}] {} elements for {} places", kName, source.numel(), places));
  return places == 0 ? Tensor() : maximum(sub(counts, 1.0), 0.0);
}

}  // namespace troupe::detail
