#include "autograd/ops/exponential.h"

#include <limits>
#include <numbers>

#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/ops.h"

namespace troupe {

namespace {

/// g / (x (1 - x))
Tensor logit_slope(const Tensor& g, const Tensor& x) { return div(g, mul(x, sub(1.0, x))); }

}  // namespace

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::rounded_once;
using detail::Saved;
using detail::wide;
using Edges = std::span<const Edge>;

Variable exp(const Variable& x) {
  const Tensor result = exp(x.value());
  return record("exp", result, edges_of({&x}), [y = Saved(result)](const Tensor& g) { return mul(g, y.get()); });
}

Variable expm1(const Variable& x) {
  const Tensor result = expm1(x.value());
  return record("expm1", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return mul(g, add(wide(y), 1.0)); }));
}

Variable exp2(const Variable& x) {
  const Tensor result = exp2(x.value());
  return record("exp2", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return mul(mul(g, wide(y)), std::numbers::ln2); }));
}

Variable log(const Variable& x) {
  const Tensor value = x.value();
  return record("log", log(value), edges_of({&x}), [x = Saved(value)](const Tensor& g) { return div(g, x.get()); });
}

Variable log1p(const Variable& x) {
  const Tensor value = x.value();
  return record("log1p", log1p(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return div(g, add(wide(x), 1.0)); }));
}

Variable log2(const Variable& x) {
  const Tensor value = x.value();
  return record("log2", log2(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return div(g, mul(wide(x), std::numbers::ln2)); }));
}

Variable log10(const Variable& x) {
  const Tensor value = x.value();
  return record("log10", log10(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return div(g, mul(wide(x), std::numbers::ln10)); }));
}

Variable logit(const Variable& x) {
  const Tensor value = x.value();
  return record("logit", logit(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  const Tensor outside = logical_or(lt(x.get(), 0.0), gt(x.get(), 1.0));
                  return masked_fill(logit_slope(g, wide(x)), outside, std::numeric_limits<double>::quiet_NaN());
                }));
}

Variable logit(const Variable& x, double eps) {
  const Tensor value = x.value();
  return record("logit", logit(value, eps), edges_of({&x}), rounded_once([x = Saved(value), eps](const Tensor& g) {
                  const Tensor at = wide(x);
                  return masked_fill(logit_slope(g, at), logical_or(lt(at, eps), gt(at, 1.0 - eps)), 0.0);
                }));
}

Variable logaddexp(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record(
      "logaddexp", logaddexp(x, y), edges_of({&a, &b}),
      rounded_once([x_layout = Layout(x), y_layout = Layout(y), x = Saved(x), y = Saved(y)](const Tensor& g, Edges to) {
        const Tensor share = sigmoid(sub(wide(x), wide(y)).to(g.dtype()));
        return std::vector<Tensor>{to[0] ? reduce_to(x_layout, mul(g, share)) : Tensor(),
                                   to[1] ? reduce_to(y_layout, mul(g, sub(1.0, share))) : Tensor()};
      }));
}

Variable xlogy(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record(
      "xlogy", xlogy(x, y), edges_of({&a, &b}),
      rounded_once([x_layout = Layout(x), y_layout = Layout(y), x = Saved(x), y = Saved(y)](const Tensor& g, Edges to) {
        std::vector<Tensor> gradients(2);
        if (to[0]) {
          const Tensor constant = logical_and(eq(x.get(), 0.0), le(y.get(), 0.0));
          const Tensor slope = xlogy(g, wide(y));
          gradients[0] = reduce_to(x_layout, masked_fill(slope, constant, 0.0));
        }
        if (to[1]) gradients[1] = reduce_to(y_layout, div(mul(g, wide(x)), wide(y)));
        return gradients;
      }));
}

Variable xlogy(const Variable& a, double b) {
  const Tensor x = a.value();
  return record("xlogy", xlogy(x, b), edges_of({&a}), rounded_once([x = Saved(x), b](const Tensor& g) {
                  const Tensor slope = xlogy(g, b);
                  return b <= 0.0 ? masked_fill(slope, eq(x.get(), 0.0), 0.0) : slope;
                }));
}

Variable xlogy(double a, const Variable& b) {
  const Tensor y = b.value();
  return record("xlogy", xlogy(a, y), edges_of({&b}),
                rounded_once([y = Saved(y), a](const Tensor& g) { return div(mul(g, a), wide(y)); }));
}

}  // namespace troupe
