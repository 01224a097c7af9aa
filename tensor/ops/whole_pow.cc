#include "tensor/ops/whole_pow.h"

#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::detail {

Tensor whole_pow(const Tensor& base, std::int64_t exponent) {
  Tensor result = ones_like(base);
  Tensor factor = base;
  for (std::int64_t left = exponent; left > 0; left /= 2) {
    if (left % 2 == 1) result = mul(result, factor);
    if (left > 1) factor = mul(factor, factor);
  }
  return result;
}

Tensor whole_pow(const Tensor& base, const Tensor& exponent) {
  const Shape shape = broadcast_shapes("pow", base.shape(), exponent.shape());
  Tensor result = ones(shape, base.dtype(), base.device());
  if (result.numel() == 0) return result;
  const auto is_odd = [](const Tensor& x) { return ne(bitwise_and(x, 1.0), 0.0); };
  Tensor factor = base;
  Tensor left = exponent;
  for (auto most = max(exponent).item<std::int64_t>(); most > 0; most /= 2) {
    result = where(is_odd(left), mul(result, factor), result);
    if (most == 1) break;
    factor = mul(factor, factor);
    left = bitwise_right_shift(left, 1.0);
  }
  if (exponent.dtype() == DType::u8) return result;
  const auto number = [&](double value) { return full({}, value, base.dtype(), base.device()); };
  const Tensor of_minus_1 = where(is_odd(exponent), number(-1.0), number(1.0));
  const Tensor quotient = where(eq(base, 1.0), number(1.0), where(eq(base, -1.0), of_minus_1, number(0.0)));
  return where(lt(exponent, 0.0), quotient, result);
}

}  // namespace troupe::detail
