#include "tensor/ops_scan.h"

#include "tensor/kernels.h"

namespace troupe {
namespace {

Tensor cumsum_to(std::string_view op, const Tensor& x, int dim, cpu::Direction direction) {
  x.require_defined(op);
  const int at = normalize_dim(op, dim, x.shape());
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : DType::i64;
  const DType wide = compute_dtype(dtype);
  const Shape around = joined_around(x.shape(), at);
  Tensor sums = Tensor::empty(around, wide, x.device());
  kernels::cumsum(sums, x.to(wide).contiguous().view(around), direction);
  return sums.view(x.shape()).to(dtype);
}

}  // namespace

Tensor cumsum(const Tensor& x, int dim) { return cumsum_to("cumsum", x, dim, cpu::Direction::forward); }

Tensor cumsum_backward(const Tensor& grad, int dim) {
  return cumsum_to("cumsum_backward", grad, dim, cpu::Direction::backward);
}

}  // namespace troupe
