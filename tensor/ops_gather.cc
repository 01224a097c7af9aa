#include <fmt/format.h>

#include "tensor/checks.h"
#include "tensor/create.h"
#include "tensor/kernels.h"
#include "tensor/ops.h"
#include "tensor/ops_index.h"

namespace troupe {
namespace {

// Whether `index` has the rank of `shape` and, beside `dim`, no larger size.
bool fits_beside(int dim, const Shape& index, const Shape& shape) {
  if (index.size() != shape.size()) return false;
  for (int i = 0; i < shape.size(); ++i) {
    if (i != dim && index[i] > shape[i]) return false;
  }
  return true;
}

// `index`, checked for places along dimension `dim` of a tensor of `shape`.
Tensor places_in(std::string_view op, const Shape& shape, int dim, const Tensor& index) {
  if (!fits_beside(dim, index.shape(), shape)) {
    throw ShapeError(fmt::format("[{}] index does not fit: {} for {}", op, to_string(index.shape()), to_string(shape)));
  }
  return detail::checked_index(op, index, shape[dim]);
}

}  // namespace

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  detail::require_together("gather", x, index);
  const int at = normalize_dim("gather", dim, x.shape());
  const Tensor places = places_in("gather", x.shape(), at, index);
  Tensor out = Tensor::empty(index.shape(), x.dtype(), x.device());
  kernels::gather(out, x, at, places);
  return out;
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  constexpr std::string_view kName = "scatter_add";
  detail::require_together(kName, x, index);
  detail::require_together(kName, x, source);
  detail::require_same_dtype(kName, x, source);
  if (x.dtype() == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", kName));
  const int at = normalize_dim(kName, dim, x.shape());
  const Tensor places = places_in(kName, x.shape(), at, index);
  if (!fits_beside(-1, index.shape(), source.shape())) {
    throw ShapeError(fmt::format("[{}] source does not fit: {} for index {}", kName, to_string(source.shape()),
                                 to_string(index.shape())));
  }
  // Computed whole, so that what comes together at one place is rounded once.
  const DType dtype = compute_dtype(x.dtype());
  Tensor out = x.to(dtype);
  if (dtype == x.dtype()) out = x.clone();
  kernels::scatter_add(out, at, places, source.to(dtype));
  return out.to(x.dtype());
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  constexpr std::string_view kName = "masked_fill";
  detail::require_together(kName, x, mask);
  if (!broadcasts_to(mask.shape(), x.shape())) {
    throw ShapeError(fmt::format("[{}] mask does not fit: {} for {}", kName, to_string(mask.shape()), to_string(x.shape())));
  }
  detail::require_value_of(kName, value, x.dtype());
  return where(mask, full({}, value, x.dtype(), x.device()), x);
}

}  // namespace troupe
