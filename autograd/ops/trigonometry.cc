#include "autograd/ops/trigonometry.h"

#include "autograd/record.h"
#include "tensor/ops.h"

namespace troupe {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::Saved;
using detail::saved_for;
using Edges = std::span<const Edge>;

Variable sin(const Variable& x) {
  const Tensor value = x.value();
  return record("sin", sin(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, cos(x.get())); });
}

Variable cos(const Variable& x) {
  const Tensor value = x.value();
  return record("cos", cos(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return neg(mul(g, sin(x.get()))); });
}

Variable tan(const Variable& x) {
  const Tensor result = tan(x.value());
  return record("tan", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return mul(g, add(square(y.get()), 1.0)); });
}

Variable asin(const Variable& x) {
  const Tensor value = x.value();
  return record("asin", asin(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(sub(1.0, square(x.get())))); });
}

Variable acos(const Variable& x) {
  const Tensor value = x.value();
  return record("acos", acos(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return neg(mul(g, rsqrt(sub(1.0, square(x.get()))))); });
}

Variable atan(const Variable& x) {
  const Tensor value = x.value();
  return record("atan", atan(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return div(g, add(square(x.get()), 1.0)); });
}

Variable sinh(const Variable& x) {
  const Tensor value = x.value();
  return record("sinh", sinh(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, cosh(x.get())); });
}

Variable cosh(const Variable& x) {
  const Tensor value = x.value();
  return record("cosh", cosh(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, sinh(x.get())); });
}

Variable tanh(const Variable& x) {
  const Tensor result = tanh(x.value());
  return record("tanh", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return tanh_backward(g, y.get()); });
}

Variable asinh(const Variable& x) {
  const Tensor value = x.value();
  return record("asinh", asinh(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(add(square(x.get()), 1.0))); });
}

Variable acosh(const Variable& x) {
  const Tensor value = x.value();
  return record("acosh", acosh(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, rsqrt(sub(square(x.get()), 1.0))); });
}

Variable atanh(const Variable& x) {
  const Tensor value = x.value();
  return record("atanh", atanh(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return div(g, sub(1.0, square(x.get()))); });
}

Variable atan2(const Variable& a, const Variable& b) {
  const auto [y, x] = detail::values_of(a, b);
  return record("atan2", atan2(y, x), edges_of({&a, &b}),
                [y_layout = Layout(y), x_layout = Layout(x), y = Saved(y), x = Saved(x)](const Tensor& g, Edges to) {
                  const Tensor over_square = div(g, add(square(y.get()), square(x.get())));
                  return std::vector<Tensor>{to[0] ? reduce_to(y_layout, mul(over_square, x.get())) : Tensor(),
                                             to[1] ? neg(reduce_to(x_layout, mul(over_square, y.get()))) : Tensor()};
                });
}

Variable hypot(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  const Tensor result = hypot(x, y);
  return record("hypot", result, edges_of({&a, &b}),
                [x_layout = Layout(x), y_layout = Layout(y), x = saved_for(a, x), y = saved_for(b, y),
                 result = Saved(result)](const Tensor& g, Edges to) {
                  return std::vector<Tensor>{
                      to[0] ? reduce_to(x_layout, mul(g, div(x.get(), result.get()))) : Tensor(),
                      to[1] ? reduce_to(y_layout, mul(g, div(y.get(), result.get()))) : Tensor()};
                });
}

}  // namespace troupe
