#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/create.h"
#include "tensor/decompositions/centred.h"
#include "tensor/dims.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::rounded;
using detail::rounded_once;
using detail::Saved;
using detail::wide;

/// Returns `shape` with size 1 along `axes`: the shape of a reduction with KeepDim::yes.
Shape reduced_shape(std::string_view op, const Shape& shape, const Axes& axes) {
  Shape reduced = shape;
  for (int axis : axes.values()) reduced[normalize_dim(op, axis, shape)] = 1;
  return reduced;
}

/// Returns the backward of a sum: it gives each summand the gradient, as a view that repeats elements.
auto repeat_to(const Shape& reduced, const Shape& shape) {
  return [reduced, shape](const Tensor& g) { return g.reshape(reduced).expand(shape); };
}

Axes all_axes(const Variable& x) { return detail::all_dims(x.shape().size()); }

/// Returns the gradient by `x`: the gradient `g` in equal shares for the elements equal to `top`, the largest or
/// smallest.
Tensor share_of_extremes(const Tensor& x, const Tensor& top, const Tensor& g, const Axes& axes) {
  const Tensor chosen = eq(x, top).to(g.dtype());
  return mul(chosen, div(g, sum(chosen, axes, KeepDim::yes)));
}

Variable record_extreme(std::string_view name, const Variable& x, const Tensor& value, const Tensor& result,
                        const Axes& axes) {
  return record(name, result, edges_of({&x}),
                rounded_once([x = Saved(value), y = Saved(result), axes,
                              reduced = reduced_shape(name, value.shape(), axes)](const Tensor& g) {
                  return share_of_extremes(x.get(), y.get().reshape(reduced), g.reshape(reduced), axes);
                }));
}

/// Returns the gradient of the variance: 2 (x - mean) / (count - correction).
Tensor distances(const Tensor& x, const Axes& axes, double correction) {
  const Tensor centre = mean(x, axes, KeepDim::yes);
  const double count = static_cast<double>(x.numel()) / static_cast<double>(centre.numel());
  return mul(detail::centred(x, centre, axes), 2.0 / (count - correction));
}

/// Returns exp(x) / sum(exp(x)) along `axes`: the gradient of logsumexp. The result of logsumexp does not give it:
/// beside a large element the logarithm of the sum is rounded away.
Tensor shares_of_exponentials(const Tensor& x, const Axes& axes) {
  if (x.numel() == 0) return zeros_like(x);
  const Tensor top = max(x, axes, KeepDim::yes);
  // An infinite shift would turn infinities into NaN.
  const Tensor below = sub(x, where(isfinite(top), top, zeros_like(top)));
  return exp(sub(below, log(sum(exp(below), axes, KeepDim::yes))));
}

/// Returns for each element the product of the others that are reduced with it to `reduced`. Unlike a quotient of
/// products it is exact beside infinite factors. REQUIRES: `x` has elements.
Tensor products_of_others(const Tensor& x, const Shape& reduced) {
  std::vector<int> order = detail::all_dims(x.dim());
  std::stable_partition(order.begin(), order.end(), [&](int dim) { return reduced[dim] == x.size(dim); });
  const Tensor ordered = x.permute(order);
  const Tensor lines = ordered.reshape({reduced.numel(), -1});
  const Tensor none = ones({lines.size(0), 1}, x.dtype(), x.device());
  const auto products_before = [&](const Tensor& factors) {
    return cumprod(concat({none, factors.slice(1, 0, factors.size(1) - 1)}, 1), 1);
  };
  const Tensor others = mul(products_before(lines), flip(products_before(flip(lines, 1)), 1));
  return others.reshape(ordered.shape()).permute(detail::inverse_order(order));
}

/// Returns the gradient of cumprod. Before the first 0 of a line, an element is a factor of its own and all later
/// results. The first 0 is a factor of later results whose product without it may differ from 0. Elements after the
/// first 0 have the gradient 0.
Tensor gradient_of_products(const Tensor& g, const Tensor& x, int dim) {
  if (x.size(dim) == 1) return g;  // products of one factor, which may be infinite
  const DType dtype = compute_dtype(x.dtype());
  const Tensor value = x.to(dtype);
  const Tensor gradient = g.to(dtype);
  const Tensor is_zero = eq(value, 0.0);
  const Tensor zeros = cumsum(is_zero, dim);
  const Tensor before = eq(zeros, 0.0);
  const Tensor first = logical_and(is_zero, eq(zeros, 1.0));
  const Tensor others = masked_fill(mul(gradient, cumprod(masked_fill(value, first, 1.0), dim)), before, 0.0);
  const Tensor whole = cumsum_backward(mul(gradient, cumprod(value, dim)), dim);
  const Tensor result =
      where(before, div(whole, value), masked_fill(cumsum_backward(others, dim), logical_not(first), 0.0));
  return result.to(x.dtype());
}

}  // namespace

Variable sum(const Variable& x) {
  const Tensor value = x.value();
  return record("sum", sum(value), edges_of({&x}),
                [shape = value.shape()](const Tensor& g) { return g.expand(shape); });
}

Variable sum(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  Tensor result = sum(value, axes, keep);
  return record("sum", std::move(result), edges_of({&x}),
                repeat_to(reduced_shape("sum", value.shape(), axes), value.shape()));
}

Variable mean(const Variable& x) {
  const Tensor value = x.value();
  return record("mean", mean(value), edges_of({&x}), [shape = value.shape(), count = value.numel()](const Tensor& g) {
    return div(g, static_cast<double>(count)).expand(shape);
  });
}

Variable mean(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  Tensor result = mean(value, axes, keep);
  const Shape reduced = reduced_shape("mean", value.shape(), axes);
  const double count = static_cast<double>(value.numel()) / static_cast<double>(reduced.numel());
  return record("mean", std::move(result), edges_of({&x}),
                [repeat = repeat_to(reduced, value.shape()), count](const Tensor& g) { return repeat(div(g, count)); });
}

Variable prod(const Variable& x) { return prod(x, all_axes(x)); }

Variable prod(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  return record(
      "prod", prod(value, axes, keep), edges_of({&x}),
      rounded_once([x = Saved(value), axes, reduced = reduced_shape("prod", value.shape(), axes)](const Tensor& g) {
        if (x.get().shape() == reduced) return g.reshape(reduced);  // products of one factor, which may be infinite
        // The product of the other elements. If exactly one element is 0, only its own is not 0.
        const Tensor is_zero = eq(x.get(), 0.0);
        const Tensor zeros = sum(is_zero, axes, KeepDim::yes);
        const Tensor rest = masked_fill(wide(x), is_zero, 1.0);
        const Tensor product = mul(g.reshape(reduced), prod(rest, axes, KeepDim::yes));
        const Tensor without = masked_fill(div(product, rest), gt(zeros, 0.0), 0.0);
        const Tensor gradient = where(logical_and(is_zero, eq(zeros, 1.0)), product, without);
        const Tensor finite = all(isfinite(x.get()), axes, KeepDim::yes);
        if (all(finite).item<bool>()) return gradient;
        return where(finite, gradient, mul(g.reshape(reduced), products_of_others(wide(x), reduced)));
      }));
}

Variable max(const Variable& x) { return max(x, all_axes(x)); }
Variable max(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  return record_extreme("max", x, value, max(value, axes, keep), axes);
}
Variable min(const Variable& x) { return min(x, all_axes(x)); }
Variable min(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  return record_extreme("min", x, value, min(value, axes, keep), axes);
}

Variable var(const Variable& x) { return var(x, all_axes(x)); }
Variable var(const Variable& x, const Axes& axes, double correction, KeepDim keep) {
  const Tensor value = x.value();
  return record(
      "var", var(value, axes, correction, keep), edges_of({&x}),
      rounded_once([x = Saved(value), axes, correction, reduced = reduced_shape("var", value.shape(), axes)](
                       const Tensor& g) { return mul(distances(wide(x), axes, correction), g.reshape(reduced)); }));
}

Variable stddev(const Variable& x) { return stddev(x, all_axes(x)); }
Variable stddev(const Variable& x, const Axes& axes, double correction, KeepDim keep) {
  const Tensor value = x.value();
  // In f64: the variance and the gradient's factors may be beyond the range of f32 where the results are not.
  const Tensor result = stddev(value.to(DType::f64), axes, correction, keep);
  const Tensor narrow = result.to(compute_dtype(promote_to_floating(value.dtype())));
  return record("stddev", rounded(narrow, value.dtype()), edges_of({&x}),
                rounded_once([x = Saved(value), y = Saved(result), axes, correction,
                              reduced = reduced_shape("stddev", value.shape(), axes)](const Tensor& g) {
                  const Tensor slope = masked_fill(div(g.to(DType::f64), mul(y.get(), 2.0)), eq(y.get(), 0.0), 0.0);
                  return mul(distances(x.get().to(DType::f64), axes, correction), slope.reshape(reduced)).to(g.dtype());
                }));
}

Variable norm(const Variable& x, double p) { return norm(x, p, all_axes(x)); }
Variable norm(const Variable& x, double p, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  const Tensor result = norm(wide(value), p, axes, keep);
  return record("norm", rounded(result, value.dtype()), edges_of({&x}),
                rounded_once([x = Saved(value), y = Saved(result), p, axes,
                              reduced = reduced_shape("norm", value.shape(), axes)](const Tensor& g) {
                  const Tensor at = wide(x);
                  const Tensor top = y.get().reshape(reduced);
                  if (p == std::numeric_limits<double>::infinity()) {
                    return mul(share_of_extremes(abs(at), top, g.reshape(reduced), axes), sign(at));
                  }
                  if (p == 1.0) return mul(sign(at), g.reshape(reduced));
                  // sign(x) (|x| / norm)^(p - 1), and 0 where the norm is 0.
                  const Tensor ratio = masked_fill(div(at, top), eq(top, 0.0).expand(at.shape()), 0.0);
                  if (p == 2.0) return mul(ratio, g.reshape(reduced));
                  if (p > 1.0) return mul(mul(sign(at), pow(abs(ratio), p - 1.0)), g.reshape(reduced));
                  // Not by the ratio, which is 0 beside an infinite or a much larger element.
                  const Tensor slope = mul(pow(abs(at), p - 1.0), pow(top, 1.0 - p));
                  // Infinite at 0: 0 as in torch.
                  return mul(mul(sign(at), masked_fill(slope, eq(at, 0.0), 0.0)), g.reshape(reduced));
                }));
}

Variable logsumexp(const Variable& x, const Axes& axes, KeepDim keep) {
  const Tensor value = x.value();
  const Tensor result = logsumexp(wide(value), axes, keep);
  return record(
      "logsumexp", rounded(result, value.dtype()), edges_of({&x}),
      rounded_once([x = Saved(value), axes, reduced = reduced_shape("logsumexp", value.shape(), axes)](
                       const Tensor& g) { return mul(shares_of_exponentials(wide(x), axes), g.reshape(reduced)); }));
}

Variable cumprod(const Variable& x, int dim) {
  const Tensor value = x.value();
  return record("cumprod", cumprod(value, dim), edges_of({&x}),
                [x = Saved(value), dim](const Tensor& g) { return gradient_of_products(g, x.get(), dim); });
}

Variable cumsum(const Variable& x, int dim) {
  const Tensor value = x.value();
  return record("cumsum", cumsum(value, dim), edges_of({&x}),
                [dim](const Tensor& g) { return cumsum_backward(g, dim); });
}

}  // namespace troupe
