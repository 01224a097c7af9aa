#include "autograd/ops.h"
#include "autograd/record.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::Saved;
using detail::saved_for;
using Edges = std::span<const Edge>;

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  return record("add", add(x, y), edges_of({&a, &b}), [x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
    return std::vector<Tensor>{to[0] ? reduce_to(x, g) : Tensor(), to[1] ? reduce_to(y, g) : Tensor()};
  });
}

Variable add(const Variable& a, double b) {
  return record("add", add(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable sub(const Variable& a, const Variable& b) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  return record("sub", sub(x, y), edges_of({&a, &b}), [x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
    return std::vector<Tensor>{to[0] ? reduce_to(x, g) : Tensor(), to[1] ? neg(reduce_to(y, g)) : Tensor()};
  });
}

Variable sub(const Variable& a, double b) {
  return record("sub", sub(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable sub(double a, const Variable& b) {
  return record("sub", sub(a, b.value()), edges_of({&b}), [](const Tensor& g) { return neg(g); });
}

Variable mul(const Variable& a, const Variable& b) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  return record("mul", mul(x, y), edges_of({&a, &b}),
                [x_layout = Layout(x), y_layout = Layout(y), x = saved_for(b, x), y = saved_for(a, y)](const Tensor& g,
                                                                                                       Edges to) {
                  return std::vector<Tensor>{to[0] ? reduce_to(x_layout, mul(g, y.get())) : Tensor(),
                                             to[1] ? reduce_to(y_layout, mul(g, x.get())) : Tensor()};
                });
}

Variable mul(const Variable& a, double b) {
  return record("mul", mul(a.value(), b), edges_of({&a}), [b](const Tensor& g) { return mul(g, b); });
}

Variable div(const Variable& a, const Variable& b) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  const Tensor quotient = div(x, y);
  return record("div", quotient, edges_of({&a, &b}),
                [x = Layout(x), y_layout = Layout(y), y = Saved(y), quotient = saved_for(b, quotient)](const Tensor& g,
                                                                                                       Edges to) {
                  const Tensor over_y = div(g, y.get());
                  return std::vector<Tensor>{to[0] ? reduce_to(x, over_y) : Tensor(),
                                             to[1] ? neg(reduce_to(y_layout, mul(over_y, quotient.get()))) : Tensor()};
                });
}

Variable div(const Variable& a, double b) {
  return record("div", div(a.value(), b), edges_of({&a}), [b](const Tensor& g) { return div(g, b); });
}

Variable div(double a, const Variable& b) {
  const Tensor y = b.value();
  const Tensor quotient = div(a, y);
  return record("div", quotient, edges_of({&b}), [y = Saved(y), quotient = Saved(quotient)](const Tensor& g) {
    return neg(mul(div(g, y.get()), quotient.get()));
  });
}

Variable pow(const Variable& x, double exponent) {
  const Tensor value = x.value();
  return record("pow", pow(value, exponent), edges_of({&x}), [x = Saved(value), exponent](const Tensor& g) {
    // 0 * x^-1 would be NaN at 0, where the constant x^0 has the gradient 0.
    if (exponent == 0.0) return mul(g, 0.0);
    return mul(g, mul(pow(x.get(), exponent - 1.0), exponent));
  });
}

Variable neg(const Variable& x) {
  return record("neg", neg(x.value()), edges_of({&x}), [](const Tensor& g) { return neg(g); });
}

Variable abs(const Variable& x) {
  const Tensor value = x.value();
  return record("abs", abs(value), edges_of({&x}), [x = Saved(value)](const Tensor& g) {
    const Tensor sign = sub(gt(x.get(), 0.0).to(g.dtype()), lt(x.get(), 0.0).to(g.dtype()));
    return mul(g, sign);
  });
}

Variable exp(const Variable& x) {
  const Tensor result = exp(x.value());
  return record("exp", result, edges_of({&x}), [y = Saved(result)](const Tensor& g) { return mul(g, y.get()); });
}

Variable log(const Variable& x) {
  const Tensor value = x.value();
  return record("log", log(value), edges_of({&x}), [x = Saved(value)](const Tensor& g) { return div(g, x.get()); });
}

Variable sqrt(const Variable& x) {
  const Tensor result = sqrt(x.value());
  return record("sqrt", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return div(g, mul(y.get(), 2.0)); });
}

Variable tanh(const Variable& x) {
  const Tensor result = tanh(x.value());
  return record("tanh", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return mul(g, sub(1.0, mul(y.get(), y.get()))); });
}

Variable sigmoid(const Variable& x) {
  const Tensor result = sigmoid(x.value());
  return record("sigmoid", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return mul(g, mul(y.get(), sub(1.0, y.get()))); });
}

Variable relu(const Variable& x) {
  const Tensor result = relu(x.value());
  return record("relu", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return relu_backward(g, y.get()); });
}

Variable cast(const Variable& x, DType dtype) {
  const Tensor value = x.value();
  std::vector<Edge> edges = is_floating(dtype) ? edges_of({&x}) : std::vector<Edge>();
  return record("cast", value.to(dtype), std::move(edges),
                [from = value.dtype()](const Tensor& g) { return g.to(from); });
}

}  // namespace troupe
