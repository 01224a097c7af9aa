#include <fmt/format.h>

#include "tensor/create.h"
#include "tensor/decompositions/index_plan.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

// Returns whether `index` has the rank of `shape` and, except along `dim`, no larger size.
bool fits_beside(int dim, const Shape& index, const Shape& shape) {
  if (index.size() != shape.size()) return false;
  for (int i = 0; i < shape.size(); ++i) {
    if (i != dim && index[i] > shape[i]) return false;
  }
  return true;
}

// Returns `index`, checked as places along dimension `dim` of a tensor of `shape`.
Tensor places_in(std::string_view op, const Shape& shape, int dim, const Tensor& index) {
  if (!fits_beside(dim, index.shape(), shape)) {
    throw ShapeError(fmt::format("[{}] index does not fit: {} for {}", op, to_string(index.shape()), to_string(shape)));
  }
  return detail::checked_index(op, index, shape[dim]);
}

// Checks devices and dtypes of the operands and returns `dim` counted from the front.
int scatter_dim(std::string_view op, const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  detail::require_together(op, x, index);
  detail::require_together(op, x, source);
  detail::require_same_dtype(op, x, source);
  return normalize_dim(op, dim, x.shape());
}

Tensor scatter_places(std::string_view op, const Tensor& x, int at, const Tensor& index, const Tensor& source) {
  Tensor places = places_in(op, x.shape(), at, index);
  if (!fits_beside(-1, index.shape(), source.shape())) {
    throw ShapeError(fmt::format("[{}] source does not fit: {} for index {}", op, to_string(source.shape()),
                                 to_string(index.shape())));
  }
  return places;
}

}  // namespace

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  detail::require_together("gather", x, index);
  const int at = normalize_dim("gather", dim, x.shape());
  const Tensor places = places_in("gather", x.shape(), at, index);
  Tensor out = Tensor::empty(index.shape(), x.dtype(), x.device());
  kernels_of(out).gather(out, x, at, places);
  return out;
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  constexpr std::string_view kName = "scatter_add";
  const int at = scatter_dim(kName, x, dim, index, source);
  if (x.dtype() == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", kName));
  const Tensor places = scatter_places(kName, x, at, index, source);
  // Computes in the compute dtype, so that several additions at one place are rounded once.
  const DType dtype = compute_dtype(x.dtype());
  Tensor out = x.to(dtype);
  if (dtype == x.dtype()) out = x.clone();
  kernels_of(out).scatter_add(out, at, places, source.to(dtype));
  return out.to(x.dtype());
}

Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  const int at = scatter_dim("scatter", x, dim, index, source);
  const Tensor places = scatter_places("scatter", x, at, index, source);
  Tensor out = x.clone();
  kernels_of(out).scatter(out, at, places, source);
  return out;
}

Tensor scatter(const Tensor& x, int dim, const Tensor& index, double value) {
  detail::require_together("scatter", x, index);
  detail::require_value_of("scatter", value, x.dtype());
  return scatter(x, dim, index, full({}, value, x.dtype(), x.device()).expand(index.shape()));
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, int dim) {
  detail::require_together("take_along_dim", x, index);
  const detail::TakeShapes shapes = detail::take_along_shapes(x.shape(), index.shape(), dim);
  return gather(x.expand(shapes.x), dim, index.expand(shapes.index));
}

Tensor index_fill(const Tensor& x, int dim, const Tensor& index, double value) {
  detail::require_value_of("index_fill", value, x.dtype());
  return masked_fill(x, detail::parts_mask("index_fill", x, dim, index), value);
}

Tensor index_copy(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  return scatter(x, dim, detail::copy_places(x, dim, index, source), source);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  constexpr std::string_view kName = "masked_fill";
  detail::require_together(kName, x, mask);
  if (!broadcasts_to(mask.shape(), x.shape())) {
    throw ShapeError(
        fmt::format("[{}] mask does not fit: {} for {}", kName, to_string(mask.shape()), to_string(x.shape())));
  }
  detail::require_value_of(kName, value, x.dtype());
  return where(mask, full({}, value, x.dtype(), x.device()), x);
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  const Tensor places = detail::mask_places(x, mask, source);
  if (!places.defined()) return x.clone();
  return where(mask, index_select(source.reshape({source.numel()}), 0, places).view(x.shape()), x);
}

}  // namespace troupe
