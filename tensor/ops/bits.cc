#include "tensor/ops/bits.h"

#include <fmt/format.h>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

using kernels::BinaryOp;

void require_bits(std::string_view op, DType dtype) {
  if (is_floating(dtype)) throw DTypeError(fmt::format("[{}] not defined for {}", op, name_of(dtype)));
}

Tensor of_bits(std::string_view name, BinaryOp op, const Tensor& a, const Tensor& b) {
  detail::require_together(name, a, b);
  require_bits(name, detail::promoted(a, b));
  return detail::binary(name, op, a, b);
}

Tensor of_bits(std::string_view name, BinaryOp op, const Tensor& a, double b) {
  a.require_defined(name);
  require_bits(name, a.dtype());
  detail::require_value_of(name, b, detail::promoted(a.dtype(), 0.0));
  return detail::binary(name, op, a, b);
}

/// Computes `op` on integers, or on booleans as u8, whose bytes are 0 or 1.
template <class B>
Tensor of_bits_or_booleans(std::string_view name, BinaryOp op, const Tensor& a, const B& b) {
  if constexpr (std::is_same_v<B, Tensor>) {
    detail::require_together(name, a, b);
    if (a.dtype() == DType::boolean && b.dtype() == DType::boolean) {
      return detail::binary(name, op, a.to(DType::u8), b.to(DType::u8)).to(DType::boolean);
    }
  } else {
    a.require_defined(name);
    if (a.dtype() == DType::boolean) {
      detail::require_value_of(name, b, DType::boolean);
      return detail::binary(name, op, a.to(DType::u8), b).to(DType::boolean);
    }
  }
  return of_bits(name, op, a, b);
}

}  // namespace

Tensor bitwise_and(const Tensor& a, const Tensor& b) {
  return of_bits_or_booleans("bitwise_and", BinaryOp::bit_and, a, b);
}
Tensor bitwise_and(const Tensor& a, double b) { return of_bits_or_booleans("bitwise_and", BinaryOp::bit_and, a, b); }
Tensor bitwise_or(const Tensor& a, const Tensor& b) {
  return of_bits_or_booleans("bitwise_or", BinaryOp::bit_or, a, b);
}
Tensor bitwise_or(const Tensor& a, double b) { return of_bits_or_booleans("bitwise_or", BinaryOp::bit_or, a, b); }
Tensor bitwise_xor(const Tensor& a, const Tensor& b) {
  return of_bits_or_booleans("bitwise_xor", BinaryOp::bit_xor, a, b);
}
Tensor bitwise_xor(const Tensor& a, double b) { return of_bits_or_booleans("bitwise_xor", BinaryOp::bit_xor, a, b); }

Tensor bitwise_not(const Tensor& x) {
  x.require_defined("bitwise_not");
  if (x.dtype() == DType::boolean) return logical_not(x);
  // The number with all bits set is 255 in u8 and -1 in the other dtypes.
  return of_bits("bitwise_not", BinaryOp::bit_xor, x, x.dtype() == DType::u8 ? 255.0 : -1.0);
}

Tensor bitwise_left_shift(const Tensor& a, const Tensor& b) {
  return of_bits("bitwise_left_shift", BinaryOp::left_shift, a, b);
}
Tensor bitwise_left_shift(const Tensor& a, double b) {
  return of_bits("bitwise_left_shift", BinaryOp::left_shift, a, b);
}
Tensor bitwise_right_shift(const Tensor& a, const Tensor& b) {
  return of_bits("bitwise_right_shift", BinaryOp::right_shift, a, b);
}
Tensor bitwise_right_shift(const Tensor& a, double b) {
  return of_bits("bitwise_right_shift", BinaryOp::right_shift, a, b);
}

}  // namespace troupe
