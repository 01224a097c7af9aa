// Operations on variables, with gradients. Names, shapes, dtypes and errors are those of tensor/ops.h. A gradient has
// the shape and dtype of its variable. Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "autograd/ops/activation.h"
#include "autograd/ops/arrange.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/division.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/exponential.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/pointwise.h"
#include "autograd/ops/products.h"
#include "autograd/ops/trigonometry.h"
#include "autograd/variable.h"
#include "tensor/ops.h"

namespace troupe {

// Arithmetic; broadcasts.

[[nodiscard]] Variable add(const Variable& a, const Variable& b);
[[nodiscard]] Variable add(const Variable& a, double b);
[[nodiscard]] Variable sub(const Variable& a, const Variable& b);
[[nodiscard]] Variable sub(const Variable& a, double b);
[[nodiscard]] Variable sub(double a, const Variable& b);
[[nodiscard]] Variable add(const Variable& a, const Variable& b, double alpha);
[[nodiscard]] Variable sub(const Variable& a, const Variable& b, double alpha);
[[nodiscard]] Variable mul(const Variable& a, const Variable& b);
[[nodiscard]] Variable mul(const Variable& a, double b);
[[nodiscard]] Variable div(const Variable& a, const Variable& b);
[[nodiscard]] Variable div(const Variable& a, double b);
[[nodiscard]] Variable div(double a, const Variable& b);
[[nodiscard]] Variable pow(const Variable& x, double exponent);
/// The gradient by `a` is 0 where the exponent is 0. The gradient by `b` is 0 where the base is 0 and the exponent is
/// not negative.
[[nodiscard]] Variable pow(const Variable& a, const Variable& b);
[[nodiscard]] Variable neg(const Variable& x);
/// Where the operands are equal, each gets half of the gradient; where one is NaN, each gets all of it.
[[nodiscard]] Variable maximum(const Variable& a, const Variable& b);
[[nodiscard]] Variable maximum(const Variable& a, double b);
[[nodiscard]] Variable minimum(const Variable& a, const Variable& b);
[[nodiscard]] Variable minimum(const Variable& a, double b);
/// The gradient is 0 beyond the limits. At the limits it passes to x.
[[nodiscard]] Variable clamp(const Variable& x, double low, double high);
/// Where the operands are equal, x gets the gradient. Where one is NaN, neither gets it.
[[nodiscard]] Variable clamp_min(const Variable& x, double low);
[[nodiscard]] Variable clamp_min(const Variable& x, const Variable& low);
[[nodiscard]] Variable clamp_max(const Variable& x, double high);
[[nodiscard]] Variable clamp_max(const Variable& x, const Variable& high);
/// The gradient by `a` is 1 or -1, and 0 where `a` is 0. The gradient by `b` is 0.
[[nodiscard]] Variable copysign(const Variable& a, const Variable& b);
[[nodiscard]] Variable copysign(const Variable& a, double b);
[[nodiscard]] Variable where(const Tensor& condition, const Variable& a, const Variable& b);
[[nodiscard]] Variable where(const Tensor& condition, const Variable& a, double b);
[[nodiscard]] Variable where(const Tensor& condition, double a, const Variable& b);

// Elementwise functions.

/// The gradient at 0 is 0.
[[nodiscard]] Variable abs(const Variable& x);
/// The gradient is 0 everywhere.
[[nodiscard]] Variable sign(const Variable& x);
[[nodiscard]] Variable floor(const Variable& x);
[[nodiscard]] Variable ceil(const Variable& x);
[[nodiscard]] Variable round(const Variable& x);
[[nodiscard]] Variable trunc(const Variable& x);
/// The gradient is 1 everywhere.
[[nodiscard]] Variable frac(const Variable& x);
[[nodiscard]] Variable square(const Variable& x);
[[nodiscard]] Variable reciprocal(const Variable& x);
[[nodiscard]] Variable sqrt(const Variable& x);
[[nodiscard]] Variable rsqrt(const Variable& x);
[[nodiscard]] Variable erf(const Variable& x);
[[nodiscard]] Variable erfc(const Variable& x);
/// The gradient is 0 where `x` is NaN or infinite.
[[nodiscard]] Variable nan_to_num(const Variable& x, const NanToNumOptions& options = {});
/// Returns `x` in another dtype. Its gradient returns in the dtype of `x`. A result that is not floating point is a
/// constant.
[[nodiscard]] Variable cast(const Variable& x, DType dtype);

// Reductions

[[nodiscard]] Variable sum(const Variable& x);
[[nodiscard]] Variable sum(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable prod(const Variable& x);
[[nodiscard]] Variable prod(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable mean(const Variable& x);
[[nodiscard]] Variable mean(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);

/// Equal largest (smallest) elements share the gradient equally, as torch's amax (amin).
[[nodiscard]] Variable max(const Variable& x);
[[nodiscard]] Variable max(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable min(const Variable& x);
[[nodiscard]] Variable min(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable var(const Variable& x);
[[nodiscard]] Variable var(const Variable& x, const Axes& axes, double correction = 1, KeepDim keep = KeepDim::no);
/// The gradient is 0 where the deviation is 0.
[[nodiscard]] Variable stddev(const Variable& x);
[[nodiscard]] Variable stddev(const Variable& x, const Axes& axes, double correction = 1, KeepDim keep = KeepDim::no);
/// The gradient is 0 where the norm is 0.
[[nodiscard]] Variable norm(const Variable& x, double p = 2);
[[nodiscard]] Variable norm(const Variable& x, double p, const Axes& axes, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable logsumexp(const Variable& x, const Axes& axes, KeepDim keep = KeepDim::no);

// Shape. The value is a view where the tensor operation returns one.

[[nodiscard]] Variable reshape(const Variable& x, const Shape& shape);
[[nodiscard]] Variable flatten(const Variable& x, int first_dim = 0, int last_dim = -1);
[[nodiscard]] Variable transpose(const Variable& x, int dim0 = -2, int dim1 = -1);
[[nodiscard]] Variable permute(const Variable& x, std::span<const int> dims);
[[nodiscard]] Variable permute(const Variable& x, std::initializer_list<int> dims);
[[nodiscard]] Variable squeeze(const Variable& x, int dim);
[[nodiscard]] Variable squeeze(const Variable& x);
[[nodiscard]] Variable unsqueeze(const Variable& x, int dim);
[[nodiscard]] Variable expand(const Variable& x, const Shape& shape);
/// See Tensor::slice and Tensor::select.
[[nodiscard]] Variable slice(const Variable& x, int dim, std::int64_t begin,
                             std::int64_t end = std::numeric_limits<std::int64_t>::max(), std::int64_t step = 1);
[[nodiscard]] Variable select(const Variable& x, int dim, std::int64_t index);
[[nodiscard]] Variable concat(std::span<const Variable> variables, int dim = 0);
[[nodiscard]] Variable concat(std::initializer_list<Variable> variables, int dim = 0);
[[nodiscard]] Variable stack(std::span<const Variable> variables, int dim = 0);
[[nodiscard]] Variable stack(std::initializer_list<Variable> variables, int dim = 0);

[[nodiscard]] Variable narrow(const Variable& x, int dim, std::int64_t start, std::int64_t length);
[[nodiscard]] std::vector<Variable> split(const Variable& x, std::int64_t size, int dim = 0);
[[nodiscard]] std::vector<Variable> split_with_sizes(const Variable& x, const std::vector<std::int64_t>& sizes,
                                                     int dim = 0);
[[nodiscard]] std::vector<Variable> chunk(const Variable& x, std::int64_t count, int dim = 0);
[[nodiscard]] Variable flip(const Variable& x, const Axes& axes);
[[nodiscard]] Variable roll(const Variable& x, std::int64_t shift, int dim);
[[nodiscard]] Variable roll(const Variable& x, const std::vector<std::int64_t>& shifts, const Axes& dims);
[[nodiscard]] Variable roll(const Variable& x, std::int64_t shift);
[[nodiscard]] Variable repeat(const Variable& x, const std::vector<std::int64_t>& counts);
[[nodiscard]] Variable pad(const Variable& x, const std::vector<std::int64_t>& amounts, double value = 0.0);
[[nodiscard]] Variable pad(const Variable& x, const std::vector<std::int64_t>& amounts, PadMode mode);
[[nodiscard]] Variable tril(const Variable& x, std::int64_t diagonal = 0);
[[nodiscard]] Variable triu(const Variable& x, std::int64_t diagonal = 0);

// Indexing; `index` is i64 or i32.

[[nodiscard]] Variable index_select(const Variable& x, int dim, const Tensor& index);
[[nodiscard]] Variable gather(const Variable& x, int dim, const Tensor& index);
[[nodiscard]] Variable scatter_add(const Variable& x, int dim, const Tensor& index, const Variable& source);
/// If several elements have one destination, the element that remains gets the gradient.
[[nodiscard]] Variable scatter(const Variable& x, int dim, const Tensor& index, const Variable& source);
[[nodiscard]] Variable scatter(const Variable& x, int dim, const Tensor& index, double value);
[[nodiscard]] Variable take_along_dim(const Variable& x, const Tensor& index, int dim);
[[nodiscard]] Variable index_fill(const Variable& x, int dim, const Tensor& index, double value);
[[nodiscard]] Variable index_copy(const Variable& x, int dim, const Tensor& index, const Variable& source);
[[nodiscard]] Variable index_add(const Variable& x, int dim, const Tensor& index, const Variable& source);
[[nodiscard]] Variable masked_fill(const Variable& x, const Tensor& mask, double value);
[[nodiscard]] Variable masked_scatter(const Variable& x, const Tensor& mask, const Variable& source);
[[nodiscard]] Variable masked_select(const Variable& x, const Tensor& mask);

/// Sorted or selected values, and the index of each in the input.
struct SortedVariables {
  Variable values;
  Tensor indices;
};
[[nodiscard]] SortedVariables sort(const Variable& x, int dim = -1, Order order = Order::ascending);
[[nodiscard]] SortedVariables topk(const Variable& x, std::int64_t k, int dim = -1, Order order = Order::descending);

/// Over all elements, those equal to the median share the gradient equally. Along a dimension, the chosen element gets
/// it.
[[nodiscard]] Variable median(const Variable& x);
[[nodiscard]] SortedVariables median(const Variable& x, int dim, KeepDim keep = KeepDim::no);
/// The gradient goes to the element at the quantile, or to the two elements between which it lies.
[[nodiscard]] Variable quantile(const Variable& x, double q);
[[nodiscard]] Variable quantile(const Variable& x, double q, int dim, KeepDim keep = KeepDim::no);
[[nodiscard]] Variable quantile(const Variable& x, const std::vector<double>& q, int dim, KeepDim keep = KeepDim::no);

// Cumulative operations.

[[nodiscard]] Variable cumsum(const Variable& x, int dim);
/// The gradient is exact also where elements are 0.
[[nodiscard]] Variable cumprod(const Variable& x, int dim);
/// The gradient goes to the chosen element.
[[nodiscard]] SortedVariables cummax(const Variable& x, int dim);
[[nodiscard]] SortedVariables cummin(const Variable& x, int dim);

inline Variable operator+(const Variable& a, const Variable& b) { return add(a, b); }
inline Variable operator+(const Variable& a, double b) { return add(a, b); }
inline Variable operator+(double a, const Variable& b) { return add(b, a); }
inline Variable operator-(const Variable& a, const Variable& b) { return sub(a, b); }
inline Variable operator-(const Variable& a, double b) { return sub(a, b); }
inline Variable operator-(double a, const Variable& b) { return sub(a, b); }
inline Variable operator*(const Variable& a, const Variable& b) { return mul(a, b); }
inline Variable operator*(const Variable& a, double b) { return mul(a, b); }
inline Variable operator*(double a, const Variable& b) { return mul(b, a); }
inline Variable operator/(const Variable& a, const Variable& b) { return div(a, b); }
inline Variable operator/(const Variable& a, double b) { return div(a, b); }
inline Variable operator/(double a, const Variable& b) { return div(a, b); }
inline Variable operator-(const Variable& x) { return neg(x); }

}  // namespace troupe
