#include "autograd/ops/trigonometry.h"

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

Variable sin(const Variable& x) {
  const Tensor value = x.value();
  return record("sin", sin(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, cos(wide(x))); }));
}

Variable cos(const Variable& x) {
  const Tensor value = x.value();
  return record("cos", cos(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return neg(mul(g, sin(wide(x)))); }));
}

Variable tan(const Variable& x) {
  const Tensor result = tan(x.value());
  return record("tan", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return mul(g, add(square(wide(y)), 1.0)); }));
}

Variable asin(const Variable& x) {
  const Tensor value = x.value();
  return record("asin", asin(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(sub(1.0, square(wide(x))))); }));
}

Variable acos(const Variable& x) {
  const Tensor value = x.value();
  return record("acos", acos(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  return neg(mul(g, rsqrt(sub(1.0, square(wide(x))))));
                }));
}

Variable atan(const Variable& x) {
  const Tensor value = x.value();
  return record("atan", atan(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return div(g, add(square(wide(x)), 1.0)); }));
}

Variable sinh(const Variable& x) {
  const Tensor value = x.value();
  return record("sinh", sinh(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, cosh(wide(x))); }));
}

Variable cosh(const Variable& x) {
  const Tensor value = x.value();
  return record("cosh", cosh(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, sinh(wide(x))); }));
}

Variable tanh(const Variable& x) {
  const Tensor result = tanh(x.value());
  return record("tanh", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return tanh_backward(g, y.get()); });
}

Variable asinh(const Variable& x) {
  const Tensor value = x.value();
  return record("asinh", asinh(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(add(square(wide(x)), 1.0))); }));
}

Variable acosh(const Variable& x) {
  const Tensor value = x.value();
  return record("acosh", acosh(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(sub(square(wide(x)), 1.0))); }));
}

Variable atanh(const Variable& x) {
  const Tensor value = x.value();
  return record("atanh", atanh(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return div(g, sub(1.0, square(wide(x)))); }));
}

Variable atan2(const Variable& a, const Variable& b) {
  const auto [y, x] = detail::values_of(a, b);
  return record(
      "atan2", atan2(y, x), edges_of({&a, &b}),
      rounded_once([y_layout = Layout(y), x_layout = Layout(x), y = Saved(y), x = Saved(x)](const Tensor& g, Edges to) {
        const Tensor over_square = div(g, add(square(wide(y)), square(wide(x))));
        return std::vector<Tensor>{to[0] ? reduce_to(y_layout, mul(over_square, wide(x))) : Tensor(),
                                   to[1] ? neg(reduce_to(x_layout, mul(over_square, wide(y)))) : Tensor()};
      }));
}

Variable hypot(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  const Tensor result = hypot(x, y);
  return record("hypot", result, edges_of({&a, &b}),
                rounded_once([x_layout = Layout(x), y_layout = Layout(y), x = saved_for(a, x), y = saved_for(b, y),
                              result = Saved(result)](const Tensor& g, Edges to) {
                  return std::vector<Tensor>{
                      to[0] ? reduce_to(x_layout, mul(g, div(wide(x), wide(result)))) : Tensor(),
                      to[1] ? reduce_to(y_layout, mul(g, div(wide(y), wide(result)))) : Tensor()};
                }));
}

}  // namespace troupe
