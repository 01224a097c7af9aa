#include "tensor/ops/index.h"

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

Shape with_size(Shape shape, int dim, std::int64_t size) {
  shape[dim] = size;
  return shape;
}

// Returns the row-major positions of the true elements of `flags`.
std::vector<std::int64_t> places_of(const Tensor& flags) {
  const Tensor here = flags.to(Device::cpu()).contiguous();
  const std::span<const bool> holds = here.data<bool>();
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (holds[i]) places.push_back(static_cast<std::int64_t>(i));
  }
  return places;
}

}  // namespace

Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  detail::require_together("index_select", x, index);
  detail::require_rank("index_select", index.shape(), 1);
  const int at = normalize_dim("index_select", dim, x.shape());
  const Tensor places = detail::checked_index("index_select", index, x.shape()[at]);
  const Shape shape = with_size(x.shape(), at, index.numel());
  Tensor out = Tensor::empty(shape, x.dtype(), x.device());
  Tensor target = out.view(joined_around(shape, at));
  kernels_of(target).take(target, x.contiguous().view(joined_around(x.shape(), at)), places);
  return out;
}

Tensor index_select_backward(const Tensor& grad, int dim, const Tensor& index, const Shape& shape) {
  constexpr std::string_view kName = "index_select_backward";
  detail::require_together(kName, grad, index);
  detail::require_rank(kName, index.shape(), 1);
  const int at = normalize_dim(kName, dim, shape);
  const Tensor places = detail::checked_index(kName, index, shape[at]);
  const Shape expected = with_size(shape, at, index.numel());
  if (grad.shape() != expected) {
    throw ShapeError(
        fmt::format("[{}] gradient does not fit: {} for {}", kName, to_string(grad.shape()), to_string(expected)));
  }
  if (grad.dtype() == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", kName));
  // Computes in the compute dtype, so that several additions at one place are rounded once.
  const DType dtype = compute_dtype(grad.dtype());
  Tensor out = zeros(shape, dtype, grad.device());
  Tensor target = out.view(joined_around(shape, at));
  kernels_of(target).put_add(target, grad.to(dtype).contiguous().view(joined_around(expected, at)), places);
  return out.to(grad.dtype());
}

Tensor one_hot(const Tensor& index, std::int64_t classes, DType dtype) {
  index.require_defined("one_hot");
  if (classes == -1) {
    if (index.numel() == 0) throw ValueError("[one_hot] no index to count classes by");
    classes = detail::count_to_largest("one_hot", index);
  }
  const Tensor places = detail::checked_index("one_hot", index, classes);
  Tensor out = zeros(with_last(index.shape(), classes), dtype, index.device());
  Tensor target = out.view({index.numel(), classes});
  kernels_of(target).place(target, ones({index.numel()}, dtype, index.device()), places);
  return out;
}

Tensor index_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  constexpr std::string_view kName = "index_add";
  detail::require_together(kName, x, source);
  detail::require_together(kName, x, index);
  detail::require_same_dtype(kName, x, source);
  detail::require_rank(kName, index.shape(), 1);
  const int at = normalize_dim(kName, dim, x.shape());
  const Shape expected = with_size(x.shape(), at, index.numel());
  if (source.shape() != expected) {
    throw ShapeError(
        fmt::format("[{}] source does not fit: {} for {}", kName, to_string(source.shape()), to_string(expected)));
  }
  if (x.dtype() == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", kName));
  const Tensor places = detail::checked_index(kName, index, x.shape()[at]);
  // Computes in the compute dtype, so that several additions at one place are rounded once.
  const DType dtype = compute_dtype(x.dtype());
  Tensor out = dtype == x.dtype() ? x.clone() : x.to(dtype);
  if (!out.is_contiguous()) out = out.contiguous();
  Tensor target = out.view(joined_around(x.shape(), at));
  kernels_of(target).put_add(target, source.to(dtype).contiguous().view(joined_around(expected, at)), places);
  return out.to(x.dtype());
}

Tensor nonzero(const Tensor& x) {
  x.require_defined("nonzero");
  const std::vector<std::int64_t> places = places_of(x.to(DType::boolean));
  Tensor out = Tensor::empty({static_cast<std::int64_t>(places.size()), x.dim()}, DType::i64);
  std::int64_t* to = out.mutable_data<std::int64_t>().data() + out.numel();
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    std::int64_t rest = *place;
    for (int dim = x.dim(); dim-- > 0; rest /= x.shape()[dim]) *--to = rest % x.shape()[dim];
  }
  return out.to(x.device());
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  detail::require_together("masked_select", x, mask);
  if (mask.dtype() != DType::boolean)
    throw DTypeError(fmt::format("[masked_select] mask is not boolean: {}", name_of(mask.dtype())));
  const Shape shape = broadcast_shapes("masked_select", x.shape(), mask.shape());
  const std::vector<std::int64_t> places = places_of(mask.expand(shape));
  const Tensor index = from_values<std::int64_t>(places, {static_cast<std::int64_t>(places.size())});
  return index_select(x.expand(shape).reshape({shape.numel()}), 0, index.to(x.device()));
}

}  // namespace troupe
