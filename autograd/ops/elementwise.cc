#include <numbers>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/create.h"
#include "tensor/ops/promotion.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::rounded_once;
using detail::Saved;
using detail::saved_for;
using detail::wide;
using Edges = std::span<const Edge>;

/// Returns a constant of one element, in the dtype in which operations of tensors take a number beside `x`.
Variable number_beside(const Variable& x, double number) {
  const Tensor value = x.value();
  return full({}, number, detail::promoted(value.dtype(), number), value.device());
}

/// Records `choose`, the larger or smaller of two operands, where `loses` says which is not chosen. The chosen one gets
/// the gradient; equal ones get half each. Where one of them is NaN, so is the result: both get all of it.
template <class Choose, class Compare>
Variable record_chosen(std::string_view name, const Variable& a, const Variable& b, const Choose& choose,
                       const Compare& loses) {
  const auto [x, y] = detail::values_of(a, b);
  return record(
      name, choose(x, y), edges_of({&a, &b}),
      [x_layout = Layout(x), y_layout = Layout(y), x = Saved(x), y = Saved(y), loses](const Tensor& g, Edges to) {
        const Tensor half = where(eq(x.get(), y.get()), mul(g, 0.5), g);
        const Tensor none = full({}, 0.0, g.dtype(), g.device());
        return std::vector<Tensor>{to[0] ? reduce_to(x_layout, where(loses(x.get(), y.get()), none, half)) : Tensor(),
                                   to[1] ? reduce_to(y_layout, where(loses(y.get(), x.get()), none, half)) : Tensor()};
      });
}

/// Records `limit(x, bound)`. The gradient goes to x where `keeps(x, bound)` holds, else to the bound. Where one of
/// them is NaN, neither gets it.
template <class Limit, class Compare>
Variable record_clamped(std::string_view name, const Variable& a, double bound, const Limit& limit,
                        const Compare& keeps) {
  const Tensor value = a.value();
  return record(name, limit(value, bound), edges_of({&a}), [x = Saved(value), bound, keeps](const Tensor& g) {
    return masked_fill(g, logical_not(keeps(x.get(), bound)), 0.0);
  });
}
template <class Limit, class Compare>
Variable record_clamped(std::string_view name, const Variable& a, const Variable& b, const Limit& limit,
                        const Compare& keeps) {
  const auto [x, bound] = detail::values_of(a, b);
  return record(name, limit(x, bound), edges_of({&a, &b}),
                [x_layout = Layout(x), bound_layout = Layout(bound), x = Saved(x), bound = Saved(bound), keeps](
                    const Tensor& g, Edges to) {
                  const Tensor kept = keeps(x.get(), bound.get());
                  const Tensor nan = logical_or(isnan(x.get()), isnan(bound.get()));
                  return std::vector<Tensor>{
                      to[0] ? reduce_to(x_layout, masked_fill(g, logical_not(kept), 0.0)) : Tensor(),
                      to[1] ? reduce_to(bound_layout, masked_fill(g, logical_or(kept, nan), 0.0)) : Tensor()};
                });
}
constexpr auto kAtLeast = [](const Tensor& x, const auto& bound) { return ge(x, bound); };
constexpr auto kAtMost = [](const Tensor& x, const auto& bound) { return le(x, bound); };
constexpr auto kClampMin = [](const Tensor& x, const auto& bound) { return clamp_min(x, bound); };
constexpr auto kClampMax = [](const Tensor& x, const auto& bound) { return clamp_max(x, bound); };

/// Returns sign(result) * sign(a); NaN where `a` is NaN.
Tensor relative_sign(const Tensor& result, const Tensor& a) { return where(isnan(a), a, mul(sign(result), sign(a))); }

/// Records `sum(a, b, alpha)`, whose gradient by b is `slope`.
template <class Sum>
Variable record_with_alpha(std::string_view name, const Variable& a, const Variable& b, double alpha, double slope,
                           const Sum& sum) {
  const auto [x, y] = detail::values_of(a, b);
  return record(
      name, sum(x, y, alpha), edges_of({&a, &b}), [x = Layout(x), y = Layout(y), slope](const Tensor& g, Edges to) {
        return std::vector<Tensor>{to[0] ? reduce_to(x, g) : Tensor(), to[1] ? reduce_to(y, mul(g, slope)) : Tensor()};
      });
}
constexpr auto kAddWithAlpha = [](const Tensor& x, const Tensor& y, double alpha) { return add(x, y, alpha); };
constexpr auto kSubWithAlpha = [](const Tensor& x, const Tensor& y, double alpha) { return sub(x, y, alpha); };

/// Records a piecewise constant function: gradient 0, as in torch.
Variable record_steps(std::string_view name, const Variable& x, const Tensor& result) {
  return record(name, result, edges_of({&x}), [](const Tensor& g) { return zeros_like(g); });
}

}  // namespace

Variable add(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record("add", add(x, y), edges_of({&a, &b}), [x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
    return std::vector<Tensor>{to[0] ? reduce_to(x, g) : Tensor(), to[1] ? reduce_to(y, g) : Tensor()};
  });
}

Variable add(const Variable& a, double b) {
  return record("add", add(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable sub(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record("sub", sub(x, y), edges_of({&a, &b}), [x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
    return std::vector<Tensor>{to[0] ? reduce_to(x, g) : Tensor(), to[1] ? neg(reduce_to(y, g)) : Tensor()};
  });
}

Variable add(const Variable& a, const Variable& b, double alpha) {
  return record_with_alpha("add", a, b, alpha, alpha, kAddWithAlpha);
}
Variable sub(const Variable& a, const Variable& b, double alpha) {
  return record_with_alpha("sub", a, b, alpha, -alpha, kSubWithAlpha);
}

Variable sub(const Variable& a, double b) {
  return record("sub", sub(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable sub(double a, const Variable& b) {
  return record("sub", sub(a, b.value()), edges_of({&b}), [](const Tensor& g) { return neg(g); });
}

Variable mul(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
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
  const auto [x, y] = detail::values_of(a, b);
  const Tensor quotient = div(x, y);
  return record("div", quotient, edges_of({&a, &b}),
                rounded_once([x = Layout(x), y_layout = Layout(y), y = Saved(y), quotient = saved_for(b, quotient)](
                                 const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = reduce_to(x, div(g, wide(y)));
                  // In this order, as in torch: g / y may overflow where the gradient does not.
                  if (to[1]) gradients[1] = neg(reduce_to(y_layout, mul(g, div(wide(quotient), wide(y)))));
                  return gradients;
                }));
}

Variable div(const Variable& a, double b) {
  return record("div", div(a.value(), b), edges_of({&a}), [b](const Tensor& g) { return div(g, b); });
}

Variable div(double a, const Variable& b) {
  const Tensor y = b.value();
  const Tensor quotient = div(a, y);
  return record("div", quotient, edges_of({&b}),
                rounded_once([y = Saved(y), quotient = Saved(quotient)](const Tensor& g) {
                  return neg(mul(g, div(wide(quotient), wide(y))));
                }));
}

Variable pow(const Variable& x, double exponent) {
  const Tensor value = x.value();
  return record("pow", pow(value, exponent), edges_of({&x}),
                rounded_once([x = Saved(value), exponent](const Tensor& g) {
                  // The constant x^0 has the gradient 0, also where g is no finite number or 0 * x^-1 is NaN.
                  if (exponent == 0.0) return zeros_like(g);
                  return mul(g, mul(pow(wide(x), exponent - 1.0), exponent));
                }));
}

Variable pow(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  const Tensor result = pow(x, y);
  return record("pow", result, edges_of({&a, &b}),
                rounded_once([x_layout = Layout(x), y_layout = Layout(y), x = Saved(x), y = Saved(y),
                              result = saved_for(b, result)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) {
                    // The constant x^0 has the gradient 0, also where g is no finite number or 0 * x^-1 is NaN.
                    const Tensor exponent = wide(y);
                    const Tensor product = mul(g, mul(pow(wide(x), sub(exponent, 1.0)), exponent));
                    gradients[0] =
                        reduce_to(x_layout, masked_fill(product, eq(y.get(), 0.0).expand(product.shape()), 0.0));
                  }
                  if (to[1]) {
                    // At a base of 0 the result is constant for all positive exponents. Negative ones give infinities.
                    const Tensor slope = mul(wide(result), log(wide(x)));
                    const Tensor constant = logical_and(eq(x.get(), 0.0), ge(y.get(), 0.0));
                    gradients[1] = reduce_to(y_layout, mul(g, masked_fill(slope, constant, 0.0)));
                  }
                  return gradients;
                }));
}

Variable maximum(const Variable& a, const Variable& b) {
  return record_chosen(
      "maximum", a, b, [](const Tensor& x, const Tensor& y) { return maximum(x, y); },
      [](const Tensor& x, const Tensor& y) { return lt(x, y); });
}
Variable minimum(const Variable& a, const Variable& b) {
  return record_chosen(
      "minimum", a, b, [](const Tensor& x, const Tensor& y) { return minimum(x, y); },
      [](const Tensor& x, const Tensor& y) { return gt(x, y); });
}

Variable maximum(const Variable& a, double b) { return maximum(a, number_beside(a, b)); }
Variable minimum(const Variable& a, double b) { return minimum(a, number_beside(a, b)); }
Variable where(const Tensor& condition, const Variable& a, double b) {
  return where(condition, a, number_beside(a, b));
}
Variable where(const Tensor& condition, double a, const Variable& b) {
  return where(condition, number_beside(b, a), b);
}

Variable clamp(const Variable& x, double low, double high) {
  const Tensor value = x.value();
  return record("clamp", clamp(value, low, high), edges_of({&x}), [x = Saved(value), low, high](const Tensor& g) {
    return masked_fill(g, logical_not(logical_and(ge(x.get(), low), le(x.get(), high))), 0.0);
  });
}

Variable clamp_min(const Variable& x, double low) { return record_clamped("clamp_min", x, low, kClampMin, kAtLeast); }
Variable clamp_min(const Variable& x, const Variable& low) {
  return record_clamped("clamp_min", x, low, kClampMin, kAtLeast);
}
Variable clamp_max(const Variable& x, double high) { return record_clamped("clamp_max", x, high, kClampMax, kAtMost); }
Variable clamp_max(const Variable& x, const Variable& high) {
  return record_clamped("clamp_max", x, high, kClampMax, kAtMost);
}

Variable copysign(const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  const Tensor result = copysign(x, y);
  return record("copysign", result, edges_of({&a, &b}),
                [x_layout = Layout(x), y = Layout(y), x = Saved(x), result = Saved(result)](const Tensor& g, Edges to) {
                  return std::vector<Tensor>{
                      to[0] ? reduce_to(x_layout, mul(g, relative_sign(result.get(), x.get()))) : Tensor(),
                      to[1] ? zeros(y.shape, y.dtype, g.device()) : Tensor()};
                });
}

Variable copysign(const Variable& a, double b) {
  const Tensor x = a.value();
  const Tensor result = copysign(x, b);
  return record("copysign", result, edges_of({&a}), [x = Saved(x), result = Saved(result)](const Tensor& g) {
    return mul(g, relative_sign(result.get(), x.get()));
  });
}

Variable where(const Tensor& condition, const Variable& a, const Variable& b) {
  const auto [x, y] = detail::values_of(a, b);
  return record("where", where(condition, x, y), edges_of({&a, &b}),
                [condition = Saved(condition), x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
                  const Tensor none = full({}, 0.0, g.dtype(), g.device());
                  return std::vector<Tensor>{to[0] ? reduce_to(x, where(condition.get(), g, none)) : Tensor(),
                                             to[1] ? reduce_to(y, where(condition.get(), none, g)) : Tensor()};
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

Variable rsqrt(const Variable& x) {
  const Tensor result = rsqrt(x.value());
  return record("rsqrt", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return mul(mul(g, -0.5), pow(wide(y), 3.0)); }));
}

Variable erf(const Variable& x) {
  const Tensor value = x.value();
  return record("erf", erf(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  return mul(mul(g, exp(neg(square(wide(x))))), 2.0 * std::numbers::inv_sqrtpi);
                }));
}

Variable sqrt(const Variable& x) {
  const Tensor result = sqrt(x.value());
  return record("sqrt", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return div(g, mul(wide(y), 2.0)); }));
}

Variable erfc(const Variable& x) {
  const Tensor value = x.value();
  return record("erfc", erfc(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  return mul(mul(g, exp(neg(square(wide(x))))), -2.0 * std::numbers::inv_sqrtpi);
                }));
}

Variable square(const Variable& x) {
  const Tensor value = x.value();
  return record("square", square(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, mul(wide(x), 2.0)); }));
}

Variable reciprocal(const Variable& x) {
  const Tensor result = reciprocal(x.value());
  return record("reciprocal", result, edges_of({&x}),
                rounded_once([y = Saved(result)](const Tensor& g) { return neg(mul(g, square(wide(y)))); }));
}

Variable sign(const Variable& x) { return record_steps("sign", x, sign(x.value())); }
Variable floor(const Variable& x) { return record_steps("floor", x, floor(x.value())); }
Variable ceil(const Variable& x) { return record_steps("ceil", x, ceil(x.value())); }
Variable round(const Variable& x) { return record_steps("round", x, round(x.value())); }
Variable trunc(const Variable& x) { return record_steps("trunc", x, trunc(x.value())); }

Variable frac(const Variable& x) {
  return record("frac", frac(x.value()), edges_of({&x}), [](const Tensor& g) { return g; });
}

Variable nan_to_num(const Variable& x, const NanToNumOptions& options) {
  const Tensor value = x.value();
  return record("nan_to_num", nan_to_num(value, options), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return masked_fill(g, logical_not(isfinite(x.get())), 0.0); });
}

Variable cast(const Variable& x, DType dtype) {
  const Tensor value = x.value();
  std::vector<Edge> edges = is_floating(dtype) ? edges_of({&x}) : std::vector<Edge>();
  return record("cast", value.to(dtype), std::move(edges),
                [from = value.dtype()](const Tensor& g) { return g.to(from); });
}

}  // namespace troupe
