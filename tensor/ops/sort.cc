#include "tensor/ops/sort.h"

#include <fmt/format.h>

#include <vector>

#include "tensor/dims.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/index.h"

namespace troupe {
namespace {

// Returns the indices of the first `k` elements in `order` along dimension `at`.
Tensor places(const Tensor& x, int at, std::int64_t k, Order order) {
  const std::vector<int> dims = detail::dims_with_last(x.dim(), at);
  const Tensor rows = x.to(compute_dtype(x.dtype())).permute(dims);  // the conversion keeps the order
  Shape shape = rows.shape();
  shape[x.dim() - 1] = k;
  Tensor out = Tensor::empty(shape, DType::i64, x.device());
  kernels_of(out).order_last(out, rows, order);
  return out.permute(detail::inverse_order(dims)).contiguous();
}

}  // namespace

Sorted sort(const Tensor& x, int dim, Order order) {
  const Tensor indices = argsort(x, dim, order);
  return {gather(x, dim, indices), indices};
}

Tensor argsort(const Tensor& x, int dim, Order order) {
  x.require_defined("sort");
  const int at = normalize_dim("sort", dim, x.shape());
  return places(x, at, x.shape()[at], order);
}

Sorted topk(const Tensor& x, std::int64_t k, int dim, Order order) {
  x.require_defined("topk");
  const int at = normalize_dim("topk", dim, x.shape());
  if (k < 0 || k > x.shape()[at])
    throw ValueError(fmt::format("[topk] k is {}, dimension {} has {}", k, at, x.shape()[at]));
  const Tensor indices = places(x, at, k, order);
  return {gather(x, at, indices), indices};
}

}  // namespace troupe
