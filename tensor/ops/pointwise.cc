#include "tensor/ops/pointwise.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

/// Three operands in the compute dtype, and the dtype of the result.
struct Blend {
  std::array<Tensor, 3> operands;
  DType dtype;
};

enum class Of : std::uint8_t { numbers, reals };

Blend prepared(std::string_view op, Of of, const Tensor& a, const Tensor& b, const Tensor& c) {
  detail::require_together(op, a, b);
  detail::require_together(op, a, c);
  (void)broadcast_shapes(op, a.shape(), broadcast_shapes(op, b.shape(), c.shape()));
  DType dtype = detail::promoted({&a, &b, &c});
  if (dtype == DType::boolean && of == Of::numbers) throw DTypeError(fmt::format("[{}] not defined for boolean", op));
  if (of == Of::reals) dtype = promote_to_floating(dtype);
  const DType wide = is_floating(dtype) ? compute_dtype(dtype) : dtype;
  return {{a.to(wide), b.to(wide), c.to(wide)}, dtype};
}

}  // namespace

// Interpolates from the nearer end, so that the result is exact at both ends and where both are equal.
Tensor lerp(const Tensor& a, const Tensor& b, double weight) {
  const auto [operands, dtype] = prepared("lerp", Of::reals, a, b, b);
  const auto& [from, to, same] = operands;
  const Tensor result = std::abs(weight) < 0.5 ? from + (to - from) * weight : to - (to - from) * (1.0 - weight);
  return result.to(dtype);
}

Tensor lerp(const Tensor& a, const Tensor& b, const Tensor& weight) {
  const auto [operands, dtype] = prepared("lerp", Of::reals, a, b, weight);
  const auto& [from, to, at] = operands;
  const Tensor way = to - from;
  return where(lt(abs(at), 0.5), from + way * at, to - way * (1.0 - at)).to(dtype);
}

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, double value) {
  const auto [operands, dtype] = prepared("addcmul", Of::numbers, x, a, b);
  detail::require_value_of("addcmul", value, dtype);
  const auto& [base, left, right] = operands;
  return (value == 1.0 ? base + left * right : base + left * value * right).to(dtype);
}

Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, double value) {
  const auto [operands, dtype] = prepared("addcdiv", Of::reals, x, a, b);
  const auto& [base, numerator, denominator] = operands;
  return (value == 1.0 ? base + numerator / denominator : base + numerator * value / denominator).to(dtype);
}

}  // namespace troupe
