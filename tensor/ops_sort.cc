#include "tensor/ops_sort.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "tensor/cpu/order.h"
#include "tensor/ops_index.h"

namespace troupe {
namespace {

// The dimensions of `x` with `at` last, and back.
std::vector<int> with_last(const Tensor& x, int at) {
  std::vector<int> dims(static_cast<std::size_t>(x.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + at);
  dims.push_back(at);
  return dims;
}
std::vector<int> back_from(const std::vector<int>& dims) {
  std::vector<int> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
  return back;
}

// The places of the first `k` along dimension `at`.
Tensor places(const Tensor& x, int at, std::int64_t k, Order order) {
  const std::vector<int> dims = with_last(x, at);
  const Tensor rows = x.to(compute_dtype(x.dtype())).permute(dims);  // which keeps the order
  Shape shape = rows.shape();
  shape[x.dim() - 1] = k;
  Tensor out = Tensor::empty(shape, DType::i64, x.device());
  cpu::order_last(out, rows, order);
  return out.permute(back_from(dims)).contiguous();
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
  if (k < 0 || k > x.shape()[at]) throw ValueError(fmt::format("[topk] {} of {}", k, x.shape()[at]));
  const Tensor indices = places(x, at, k, order);
  return {gather(x, at, indices), indices};
}

}  // namespace troupe
