#include "tensor/ops/scan.h"

#include <algorithm>
#include <string_view>

#include "tensor/kernels/table.h"
#include "tensor/math_threads.h"

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

// Returns how many of the lines of `around` (outer, size, inner) to find extremes of before their values are taken. One
// thread works on blocks, so that what it found is still in the cache then.
std::int64_t lines_together(const Shape& around, Device device) {
  constexpr std::int64_t kTogether = 1 << 15;
  if (device.kind != DeviceKind::cpu || MathThreads::current() > 1) return around[0];
  return std::max<std::int64_t>(kTogether / std::max<std::int64_t>(around[1] * around[2], 1), 1);
}

Sorted extremes(std::string_view op, kernels::Extreme extreme, const Tensor& x, int dim) {
  x.require_defined(op);
  const int at = normalize_dim(op, dim, x.shape());
  const Shape around = joined_around(x.shape(), at);
  const Tensor elements = x.contiguous().view(around);
  const Tensor wide = elements.to(compute_dtype(x.dtype()));
  Tensor values = Tensor::empty(around, x.dtype(), x.device());
  Tensor indices = Tensor::empty(around, DType::i64, x.device());
  const std::int64_t count = lines_together(around, x.device());
  for (std::int64_t i = 0; i < around[0] && x.numel() > 0; i += count) {
    const auto part = [&](const Tensor& of) { return of.slice(0, i, std::min(i + count, around[0])); };
    Tensor some_values = part(values);
    Tensor some_indices = part(indices);
    kernels_of(indices).cumulative_argument(extreme, some_indices, part(wide));
    kernels_of(values).gather(some_values, part(elements), 1, some_indices);
  }
  return {values.view(x.shape()), indices.view(x.shape())};
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
