#include "autograd/ops/pointwise.h"

#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/ops.h"

namespace troupe {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::rounded_once;
using detail::Saved;
using detail::saved_for;
using detail::wide;
using Edges = std::span<const Edge>;

Variable lerp(const Variable& a, const Variable& b, double weight) {
  const auto [x, y] = detail::values_of(a, b);
  return record("lerp", lerp(x, y, weight), edges_of({&a, &b}),
                rounded_once([x = Layout(x), y = Layout(y), weight](const Tensor& g, Edges to) {
                  return std::vector<Tensor>{to[0] ? reduce_to(x, mul(g, 1.0 - weight)) : Tensor(),
                                             to[1] ? reduce_to(y, mul(g, weight)) : Tensor()};
                }));
}

Variable lerp(const Variable& a, const Variable& b, const Variable& weight) {
  const auto [x, y, w] = detail::values_of(a, b, weight);
  return record(
      "lerp", lerp(x, y, w), edges_of({&a, &b, &weight}),
      rounded_once([x_layout = Layout(x), y_layout = Layout(y), w_layout = Layout(w), x = saved_for(weight, x),
                    y = saved_for(weight, y), w = Saved(w)](const Tensor& g, Edges to) {
        return std::vector<Tensor>{to[0] ? reduce_to(x_layout, mul(g, sub(1.0, wide(w)))) : Tensor(),
                                   to[1] ? reduce_to(y_layout, mul(g, wide(w))) : Tensor(),
                                   to[2] ? reduce_to(w_layout, mul(g, sub(wide(y), wide(x)))) : Tensor()};
      }));
}

Variable addcmul(const Variable& x, const Variable& a, const Variable& b, double value) {
  const auto [base, left, right] = detail::values_of(x, a, b);
  return record(
      "addcmul", addcmul(base, left, right, value), edges_of({&x, &a, &b}),
      rounded_once([x = Layout(base), left_layout = Layout(left), right_layout = Layout(right),
                    left = saved_for(b, left), right = saved_for(a, right), value](const Tensor& g, Edges to) {
        std::vector<Tensor> gradients(3);
        if (to[0]) gradients[0] = reduce_to(x, g);
        if (to[1]) gradients[1] = reduce_to(left_layout, mul(mul(g, value), wide(right)));
        if (to[2]) gradients[2] = reduce_to(right_layout, mul(mul(g, value), wide(left)));
        return gradients;
      }));
}

Variable addcdiv(const Variable& x, const Variable& a, const Variable& b, double value) {
  const auto [base, numerator, denominator] = detail::values_of(x, a, b);
  return record("addcdiv", addcdiv(base, numerator, denominator, value), edges_of({&x, &a, &b}),
                rounded_once([x = Layout(base), above = Layout(numerator), below = Layout(denominator),
                              numerator = saved_for(b, numerator), denominator = Saved(denominator),
                              value](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(3);
                  if (to[0]) gradients[0] = reduce_to(x, g);
                  if (!to[1] && !to[2]) return gradients;
                  const Tensor slope = div(mul(g, value), wide(denominator));
                  if (to[1]) gradients[1] = reduce_to(above, slope);
                  if (to[2]) gradients[2] = neg(reduce_to(below, mul(slope, div(wide(numerator), wide(denominator)))));
                  return gradients;
                }));
}

}  // namespace troupe
