// Functions that create tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
[[nodiscard]] Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
[[nodiscard]] Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = Device::cpu());
/// Throws DTypeError `[full] not a value of i64: 1.5` if `dtype` cannot represent `value`.
[[nodiscard]] Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = Device::cpu());

// The result has the shape, dtype and device of `x`.

[[nodiscard]] Tensor empty_like(const Tensor& x);
[[nodiscard]] Tensor zeros_like(const Tensor& x);
[[nodiscard]] Tensor ones_like(const Tensor& x);
[[nodiscard]] Tensor full_like(const Tensor& x, double value);

/// Returns a tensor without dimensions. `scalar(2.0F)` is f32.
template <Element T>
[[nodiscard]] Tensor scalar(T value);

/// Returns a tensor of `shape` with `values` in row-major order, of dtype_of<T>.
/// Throws ShapeError `[from_values] 5 values for shape: (2, 3)`.
template <Element T>
[[nodiscard]] Tensor from_values(std::span<const T> values, const Shape& shape);
template <Element T>
[[nodiscard]] Tensor from_values(std::initializer_list<T> values, const Shape& shape) {
  return from_values<T>(std::span<const T>(values.begin(), values.size()), shape);
}
/// As above with one dimension.
template <Element T>
[[nodiscard]] Tensor from_values(std::initializer_list<T> values) {
  return from_values<T>(values, Shape{static_cast<std::int64_t>(values.size())});
}

/// Returns 0, 1, ..., count - 1.
[[nodiscard]] Tensor arange(std::int64_t count, DType dtype = DType::i64);
/// Returns start, start + step, ... below `end` (above it if step < 0).
[[nodiscard]] Tensor arange(double start, double end, double step, DType dtype = DType::f32);
/// Returns `count` equally spaced numbers from `start` to `end`, both included. REQUIRES: a floating dtype.
/// Throws ValueError `[linspace] count below 0: -1`.
[[nodiscard]] Tensor linspace(double start, double end, std::int64_t count, DType dtype = DType::f32);
/// Returns the n x n identity matrix.
[[nodiscard]] Tensor eye(std::int64_t n, DType dtype = DType::f32);

// Random numbers are the same on every device. They are drawn on `device`, except permutations and those of a `randint`
// that rejects a draw (rare): these are drawn on the CPU and copied.

/// Returns uniform numbers: `rand` in [0, 1), `uniform` in [low, high). REQUIRES: a floating dtype.
/// Element i is the generator's i-th draw. f16 and bf16 are drawn in f32 and rounded, so the upper bound may occur.
/// Throws ValueError `[uniform] low above high: 2 > 1` or
/// `[uniform] range not finite in f64: from -1e+308 to 1e+308`, also for bounds beyond f32 and those that are NaN.
[[nodiscard]] Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::f32,
                          Device device = Device::cpu());
[[nodiscard]] Tensor uniform(const Shape& shape, double low, double high, Generator& generator,
                             DType dtype = DType::f32, Device device = Device::cpu());
/// Returns normal numbers, mean 0, variance 1. REQUIRES: a floating dtype. f16 and bf16 are drawn in f32 and rounded.
[[nodiscard]] Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::f32,
                           Device device = Device::cpu());
/// As `rand` and `randn`, with the shape, dtype and device of `x`.
[[nodiscard]] Tensor rand_like(const Tensor& x, Generator& generator);
[[nodiscard]] Tensor randn_like(const Tensor& x, Generator& generator);
/// Returns uniform integers in [low, high), i64.
[[nodiscard]] Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
                             Device device = Device::cpu());
/// Returns the numbers 0 ... n - 1 in random order, i64.
[[nodiscard]] Tensor permutation(std::int64_t n, Generator& generator, Device device = Device::cpu());

}  // namespace troupe
