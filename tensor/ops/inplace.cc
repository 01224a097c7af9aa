#include "tensor/ops/inplace.h"

#include <fmt/format.h>

#include <string_view>

#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using kernels::BinaryOp;

void require_room(std::string_view name, const Tensor& x, const Tensor& other) {
  if (!broadcasts_to(other.shape(), x.shape())) {
    throw ShapeError(
        fmt::format("[{}] {} does not broadcast to {}", name, to_string(other.shape()), to_string(x.shape())));
  }
  detail::require_distinct_elements(name, x);
}

void require_arithmetic(std::string_view name, const Tensor& x, DType result) {
  if (result == DType::boolean) return;
  if (x.dtype() == DType::boolean || (is_floating(result) && !is_floating(x.dtype()))) {
    throw DTypeError(
        fmt::format("[{}] a result of {} does not fit into {}", name, name_of(result), name_of(x.dtype())));
  }
}

/// Returns `other` in the shape of `x`; a copy if writing to `x` could overwrite elements before they are read.
Tensor operand_of(const Tensor& x, const Tensor& other) {
  const Tensor all = other.expand(x.shape());
  const bool same_view = all.offset() == x.offset() && all.strides() == x.strides() && all.dtype() == x.dtype();
  return all.storage().same_as(x.storage()) && !same_view ? all.clone() : all;
}

Tensor apply(std::string_view name, BinaryOp op, Tensor x, const Tensor& other) {
  detail::require_together(name, x, other);
  const DType dtype = detail::result_dtype(op, detail::promoted(x, other));
  require_arithmetic(name, x, dtype);
  require_room(name, x, other);
  if (dtype == x.dtype() && dtype != DType::boolean) {
    kernels_of(x).binary(op, x, x, operand_of(x, other.to(dtype)));
  } else {
    x.copy_from(detail::binary(name, op, x, other));
  }
  return x;
}

Tensor apply(std::string_view name, BinaryOp op, Tensor x, double other) {
  x.require_defined(name);
  const DType dtype = detail::result_dtype(op, detail::promoted(x.dtype(), other));
  require_arithmetic(name, x, dtype);
  detail::require_value_of(name, other, dtype);
  detail::require_distinct_elements(name, x);
  kernels_of(x).binary(op, x, x, other);
  return x;
}

Tensor apply_scaled(std::string_view name, BinaryOp op, Tensor x, double alpha, const Tensor& other) {
  if (alpha == 1.0) return apply(name, op, std::move(x), other);
  detail::require_together(name, x, other);
  const DType dtype = detail::promoted(x, other);
  require_arithmetic(name, x, dtype);
  require_room(name, x, other);
  detail::require_value_of(name, alpha, dtype);
  if (dtype == x.dtype() && is_floating(dtype)) {
    kernels_of(x).axpby(x, 1.0, x, op == BinaryOp::add ? alpha : -alpha, operand_of(x, other.to(dtype)));
  } else {
    x.copy_from(detail::binary(name, op, x, mul(other.to(dtype), alpha)));
  }
  return x;
}

}  // namespace

Tensor add_(Tensor x, const Tensor& other, double alpha) {
  return apply_scaled("add_", BinaryOp::add, std::move(x), alpha, other);
}
Tensor add_(Tensor x, double other) { return apply("add_", BinaryOp::add, std::move(x), other); }
Tensor sub_(Tensor x, const Tensor& other, double alpha) {
  return apply_scaled("sub_", BinaryOp::sub, std::move(x), alpha, other);
}
Tensor sub_(Tensor x, double other) { return apply("sub_", BinaryOp::sub, std::move(x), other); }
Tensor mul_(Tensor x, const Tensor& other) { return apply("mul_", BinaryOp::mul, std::move(x), other); }
Tensor mul_(Tensor x, double other) { return apply("mul_", BinaryOp::mul, std::move(x), other); }
Tensor div_(Tensor x, const Tensor& other) { return apply("div_", BinaryOp::div, std::move(x), other); }
Tensor div_(Tensor x, double other) { return apply("div_", BinaryOp::div, std::move(x), other); }

Tensor clamp_(Tensor x, double low, double high) {
  x.require_defined("clamp_");
  if (low > high) throw ValueError(fmt::format("[clamp_] low above high: {} > {}", low, high));
  require_arithmetic("clamp_", x, detail::promoted(x.dtype(), high));
  detail::require_value_of("clamp_", high, x.dtype());
  return apply("clamp_", BinaryOp::minimum, apply("clamp_", BinaryOp::maximum, std::move(x), low), high);
}

Tensor fill_(Tensor x, double value) {
  x.require_defined("fill_");
  detail::require_value_of("fill_", value, x.dtype());
  detail::require_distinct_elements("fill_", x);
  x.fill(value);
  return x;
}

Tensor zero_(Tensor x) {
  x.require_defined("zero_");
  detail::require_distinct_elements("zero_", x);
  x.fill(0.0);
  return x;
}

Tensor copy_(Tensor x, const Tensor& source) {
  x.require_defined("copy_");
  source.require_defined("copy_");
  require_room("copy_", x, source);
  x.copy_from(source.to(x.device()));
  return x;
}

}  // namespace troupe
