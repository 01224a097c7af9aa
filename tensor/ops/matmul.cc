#include "tensor/ops/matmul.h"

#include <fmt/format.h>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

// Returns `x` in `dtype`, in a layout that gemm reads.
Tensor gemm_operand(const Tensor& x, DType dtype) {
  const Tensor converted = x.to(dtype);
  if (!is_floating(dtype)) return converted;
  const int r = x.dim() - 2;
  const bool fits =
      kernels::is_gemm_layout(x.shape()[r], x.shape()[r + 1], converted.strides()[r], converted.strides()[r + 1]);
  return fits ? converted : converted.clone();
}

template <class Dims>
Dims without_matrix(const Dims& dims) {
  return Dims(std::span<const std::int64_t>(dims.begin(), static_cast<std::size_t>(dims.size() - 2)));
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t cols) {
  batch.push_back(rows);
  batch.push_back(cols);
  return batch;
}

// Returns the product of integer matrices on a GPU, for which there is no library: adds the outer products of column k
// of `x` and row k of `y`. REQUIRES: equal batch dimensions, at least one column in `x`.
Tensor sum_of_outer_products(const Tensor& x, const Tensor& y) {
  const auto outer_product = [&](std::int64_t k) { return mul(x.slice(-1, k, k + 1), y.slice(-2, k, k + 1)); };
  Tensor out = outer_product(0);
  for (std::int64_t k = 1; k < x.size(-1); ++k) add_into(out, outer_product(k));
  return out;
}

// Returns the dtype of the operands of a product whose sums run in `dtype`: on GPUs 16-bit floats are not converted.
DType factor_dtype(const Tensor& a, const Tensor& b, DType dtype) {
  const bool both_short = a.dtype() == b.dtype() && is_floating(a.dtype()) && compute_dtype(a.dtype()) != a.dtype();
  return kernels::on_gpu(a) && both_short ? a.dtype() : dtype;
}

// REQUIRES: both have at least 2 dimensions, with equal inner sizes.
Tensor matmul_batches(const Tensor& a, const Tensor& b, DType dtype) {
  const std::int64_t m = a.size(-2);
  const std::int64_t k = a.size(-1);
  const std::int64_t n = b.size(-1);
  const Shape batch = broadcast_shapes("matmul", without_matrix(a.shape()), without_matrix(b.shape()));
  if (b.dim() == 2 && a.dim() > 2 && a.is_contiguous() && k > 0) {
    // One product of all rows is faster than one product per matrix.
    return matmul_batches(a.reshape({-1, k}), b, dtype).reshape(with_matrix(batch, m, n));
  }
  if (k == 0) return zeros(with_matrix(batch, m, n), dtype, a.device());
  Tensor out = Tensor::empty(with_matrix(batch, m, n), dtype, a.device());
  if (out.numel() == 0) return out;
  const DType factor = factor_dtype(a, b, dtype);
  const Tensor x = gemm_operand(a, factor).expand(with_matrix(batch, m, k));
  const Tensor y = gemm_operand(b, factor).expand(with_matrix(batch, k, n));
  if (!is_floating(dtype) && kernels::on_gpu(out)) return sum_of_outer_products(x, y);
  kernels_of(out).matmul(out, x, y);
  return out;
}

std::string both(const Tensor& a, const Tensor& b) {
  return fmt::format("{} x {}", to_string(a.shape()), to_string(b.shape()));
}

// Returns the product in compute_dtype(dtype). REQUIRES: require_together() accepts both operands.
Tensor product(std::string_view op, const Tensor& a, const Tensor& b, DType dtype) {
  if (a.dim() == 0 || b.dim() == 0) throw ShapeError(fmt::format("[{}] a scalar has no columns: {}", op, both(a, b)));
  const std::int64_t inner = b.dim() == 1 ? b.size(0) : b.size(-2);
  if (a.size(-1) != inner) throw ShapeError(fmt::format("[{}] inner sizes differ: {}", op, both(a, b)));
  const Tensor x = a.dim() == 1 ? a.unsqueeze(0) : a;
  const Tensor y = b.dim() == 1 ? b.unsqueeze(1) : b;
  Tensor out = matmul_batches(x, y, compute_dtype(dtype));
  if (b.dim() == 1) out = out.squeeze(-1);
  if (a.dim() == 1) out = out.squeeze(b.dim() == 1 ? -1 : -2);
  return out;
}

void require_numbers(std::string_view op, DType dtype) {
  if (dtype == DType::boolean) throw DTypeError(fmt::format("[{}] not defined for boolean", op));
}

Tensor rounded_product(std::string_view op, const Tensor& a, const Tensor& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  require_numbers(op, dtype);
  return product(op, a, b, dtype).to(dtype);
}

void require_ranks(std::string_view op, const Tensor& a, int a_rank, const Tensor& b, int b_rank) {
  detail::require_together(op, a, b);
  detail::require_rank(op, a.shape(), a_rank);
  detail::require_rank(op, b.shape(), b_rank);
}

void require_batches(std::string_view op, const Tensor& a, const Tensor& b) {
  require_ranks(op, a, 3, b, 3);
  if (a.size(0) != b.size(0)) throw ShapeError(fmt::format("[{}] batches differ: {}", op, both(a, b)));
}

// beta * input + alpha * (a x b).
Tensor added_product(std::string_view op, const Tensor& input, const Tensor& a, const Tensor& b, double beta,
                     double alpha) {
  detail::require_together(op, input, a);
  const DType dtype = promote(input.dtype(), promote(a.dtype(), b.dtype()));
  require_numbers(op, dtype);
  detail::require_value_of(op, beta, dtype);
  detail::require_value_of(op, alpha, dtype);
  Tensor out = product(op, a, b, dtype);
  if (!broadcasts_to(input.shape(), out.shape())) {
    throw ShapeError(
        fmt::format("[{}] {} does not broadcast to {}", op, to_string(input.shape()), to_string(out.shape())));
  }
  if (!is_floating(dtype)) return add(mul(out, alpha), mul(input.to(out.dtype()), beta)).to(dtype);
  if (beta != 0.0) axpby_into(out, alpha, out, beta, input.to(out.dtype()).expand(out.shape()));
  else if (alpha != 1.0) scale_into(out, alpha);
  return out.to(dtype);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  detail::require_together("matmul", a, b);
  return rounded_product("matmul", a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  require_batches("bmm", a, b);
  return rounded_product("bmm", a, b);
}

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, double beta, double alpha) {
  require_ranks("addmm", a, 2, b, 2);
  return added_product("addmm", input, a, b, beta, alpha);
}

Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, double beta, double alpha) {
  require_batches("baddbmm", a, b);
  return added_product("baddbmm", input, a, b, beta, alpha);
}

Tensor dot(const Tensor& a, const Tensor& b) {
  require_ranks("dot", a, 1, b, 1);
  return rounded_product("dot", a, b);
}

Tensor mv(const Tensor& a, const Tensor& v) {
  require_ranks("mv", a, 2, v, 1);
  return rounded_product("mv", a, v);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  require_ranks("outer", a, 1, b, 1);
  return mul(a.unsqueeze(1), b.unsqueeze(0));
}

}  // namespace troupe
