// Layers composed of other operations, each written once for tensors and for variables (X), which have the same
// operations. REQUIRES: the including file declares the operations of X first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/decompositions/rounding.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/pool.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe::detail {

/// Returns the shape of the result of bilinear(). Throws as bilinear().
[[nodiscard]] Shape bilinear_shape(const Shape& a, const Shape& b, const Shape& weight);
/// Throws as local_response_norm().
void require_channels_around(const Shape& shape, std::int64_t size);

template <class X>
X bilinear_formula(const X& a, const X& b, const X& weight, const X& bias) {
  const Shape w = weight.shape();
  const Shape shape = bilinear_shape(a.shape(), b.shape(), w);
  const std::int64_t rows = Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.size() - 1))).numel();
  constexpr std::array kInputFirst{1, 0, 2};
  DType dtype = promote(promote(a.dtype(), b.dtype()), weight.dtype());
  const X by_left = reshape(permute(wide(weight), std::span<const int>(kInputFirst)), {w[1], w[0] * w[2]});
  const X mixed = reshape(matmul(reshape(wide(a), {rows, w[1]}), by_left), {rows, w[0], w[2]});
  const X result = reshape(matmul(mixed, reshape(wide(b), {rows, w[2], 1})), shape);
  if (!bias.defined()) return rounded(result, dtype);
  dtype = promote(dtype, bias.dtype());
  return rounded(add(result, wide(bias)), dtype);
}

template <class X>
X local_response_norm_formula(const X& x, std::int64_t size, double alpha, double beta, double k) {
  const Shape shape = x.shape();
  require_channels_around(shape, size);
  if (shape.numel() == 0) return mul(x, 1.0);
  // The channels of each place as the columns of an image.
  const X in = wide(x);
  const X squares = reshape(square(in), {shape[0], 1, shape[1], -1});
  const X padded = pad(squares, std::vector<std::int64_t>{0, 0, size / 2, (size - 1) / 2});
  const X means = reshape(avg_pool2d(padded, {.kernel = {size, 1}, .stride = {1, 1}}), shape);
  return rounded(div(in, pow(add(mul(means, alpha), k), beta)), x.dtype());
}

}  // namespace troupe::detail
