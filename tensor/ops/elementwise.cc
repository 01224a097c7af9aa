#include "tensor/ops/elementwise.h"

#include <fmt/format.h>

#include <optional>

#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/promotion.h"

namespace troupe {
namespace {

using detail::promoted;
using kernels::BinaryOp;
using kernels::UnaryOp;

bool is_real(BinaryOp op) { return op >= BinaryOp::div; }
bool is_real(UnaryOp op) { return op >= UnaryOp::exp; }

// REQUIRES: `a` and `b` each have `dtype` or compute_dtype(dtype).
Tensor binary_as(std::string_view name, BinaryOp op, DType dtype, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  Tensor out = Tensor::empty(shape, dtype, a.device());
  // Skips expand() for operands of the result's shape: copying the handles costs as much as a small operation.
  if (a.shape() == shape && b.shape() == shape) kernels_of(out).binary(op, out, a, b);
  else kernels_of(out).binary(op, out, a.expand(shape), b.expand(shape));
  return out;
}

// Returns the bit operation that implements `op` on booleans; none if the result is not always 0 or 1.
std::optional<BinaryOp> of_bits(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::maximum: return BinaryOp::bit_or;
    case BinaryOp::mul:
    case BinaryOp::minimum: return BinaryOp::bit_and;
    default: return std::nullopt;
  }
}

Tensor binary_of_booleans(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes(name, a.shape(), b.shape());
  const std::optional<BinaryOp> bits = of_bits(op);
  if (!bits) throw DTypeError(fmt::format("[{}] not defined for boolean", name));
  Tensor out = Tensor::empty(shape, DType::u8, a.device());
  kernels_of(out).binary(*bits, out, a.to(DType::u8).expand(shape), b.to(DType::u8).expand(shape));
  return out.to(DType::boolean);
}

// Returns the dtype of an operation on a tensor of `dtype` and a number.
DType dtype_with_number(std::string_view op_name, BinaryOp op, DType dtype, double number) {
  if (dtype == DType::boolean && op == BinaryOp::sub)
    throw DTypeError(fmt::format("[{}] not defined for boolean", op_name));
  const DType result = detail::result_dtype(op, promoted(dtype, number));
  detail::require_value_of(op_name, number, result);
  return result;
}

}  // namespace

namespace detail {

DType result_dtype(UnaryOp op, DType dtype) { return is_real(op) ? promote_to_floating(dtype) : dtype; }
DType result_dtype(BinaryOp op, DType dtype) { return is_real(op) ? promote_to_floating(dtype) : dtype; }

Tensor unary(std::string_view name, UnaryOp op, const Tensor& x) {
  x.require_defined(name);
  if (x.dtype() == DType::boolean && !is_real(op)) throw DTypeError(fmt::format("[{}] not defined for boolean", name));
  const DType dtype = result_dtype(op, x.dtype());
  Tensor out = Tensor::empty(x.shape(), dtype, x.device());
  if (x.dtype() == dtype) kernels_of(out).unary(op, out, x);
  else kernels_of(out).unary(op, out, x.to(dtype));
  return out;
}

Tensor binary(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b) {
  require_together(name, a, b);
  const DType dtype = result_dtype(op, promoted(a, b));
  if (dtype == DType::boolean) return binary_of_booleans(name, op, a, b);
  if (a.dtype() == dtype && b.dtype() == dtype) return binary_as(name, op, dtype, a, b);
  return binary_as(name, op, dtype, a.to(dtype), b.to(dtype));
}

Tensor binary(std::string_view name, BinaryOp op, const Tensor& a, double b) {
  a.require_defined(name);
  const DType dtype = dtype_with_number(name, op, a.dtype(), b);
  Tensor out = Tensor::empty(a.shape(), dtype, a.device());
  kernels_of(out).binary(op, out, a.to(dtype), b);
  return out;
}

Tensor binary(std::string_view name, BinaryOp op, double a, const Tensor& b) {
  b.require_defined(name);
  const DType dtype = dtype_with_number(name, op, b.dtype(), a);
  Tensor out = Tensor::empty(b.shape(), dtype, b.device());
  kernels_of(out).binary(op, out, a, b.to(dtype));
  return out;
}

Tensor binary_backward(std::string_view name, BinaryOp op, const Tensor& grad, const Tensor& saved) {
  require_together(name, grad, saved);
  require_same_shape(name, grad, saved);
  return binary(name, op, grad, saved);
}

}  // namespace detail

}  // namespace troupe
