#include "tensor/ops/scan.h"

#include <string_view>

#include "tensor/kernels/table.h"
#include "tensor/ops/index.h"

namespace troupe {
namespace {

// Calls kernel(results, x as (outer, size, inner)) with both in the compute dtype of the results.
template <class Kernel>
Tensor scanned(std::string_view op, const Tensor& x, int dim, const Kernel& kernel) {
  x.require_defined(op);
  const int at = normalize_dim(op, dim, x.shape());
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::i64;
  const DType wide = compute_dtype(dtype);
  const Shape around = joined_around(x.shape(), at);
  Tensor results = Tensor::empty(around, wide, x.device());
  kernel(results, x.to(wide).contiguous().view(around));
  return results.view(x.shape()).to(dtype);
}

Tensor cumsum_to(std::string_view op, const Tensor& x, int dim, kernels::Direction direction) {
  return scanned(op, x, dim, [&](Tensor& out, const Tensor& from) { kernels_of(out).cumsum(out, from, direction); });
}

Sorted extremes(std::string_view op, kernels::Extreme extreme, const Tensor& x, int dim) {
  x.require_defined(op);
  const int at = normalize_dim(op, dim, x.shape());
  const Shape around = joined_around(x.shape(), at);
  Tensor places = Tensor::empty(around, DType::i64, x.device());
  kernels_of(places).cumulative_argument(extreme, places, x.to(compute_dtype(x.dtype())).contiguous().view(around));
  const Tensor indices = places.view(x.shape());
  return {gather(x, at, indices), indices};
}

}  // namespace

Tensor cumsum(const Tensor& x, int dim) { return cumsum_to("cumsum", x, dim, kernels::Direction::forward); }

Tensor cumsum_backward(const Tensor& grad, int dim) {
  return cumsum_to("cumsum_backward", grad, dim, kernels::Direction::backward);
}

Tensor cumprod(const Tensor& x, int dim) {
  return scanned("cumprod", x, dim, [](Tensor& out, const Tensor& from) { kernels_of(out).cumprod(out, from); });
}

Sorted cummax(const Tensor& x, int dim) { return extremes("cummax", kernels::Extreme::largest, x, dim); }
Sorted cummin(const Tensor& x, int dim) { return extremes("cummin", kernels::Extreme::smallest, x, dim); }

}  // namespace troupe
