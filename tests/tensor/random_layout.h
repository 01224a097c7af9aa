// Tensors of random values in random layouts, and their elements read without any kernel.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Random decisions of a test; equal seeds give equal ones.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// An integer from `low` to `high`, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(generator_.below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }
  double real(double low, double high) { return low + (high - low) * generator_.uniform(); }
  /// A dimension of `x`, sometimes counted from the end; of a scalar 0.
  int dim_of(const Tensor& x) {
    const int dim = static_cast<int>(between(0, std::max(x.dim(), 1) - 1));
    return one_in(3) && x.dim() > 0 ? dim - x.dim() : dim;
  }
  /// The numbers 0 ... count - 1 in random order.
  std::vector<int> order(int count);

  Generator& generator() { return generator_; }

 private:
  Generator generator_;
};

/// Calls visit(offset in bytes from the start of the storage) for each element in row-major order.
void for_each_offset(const Tensor& x, const std::function<void(std::size_t)>& visit);

/// A contiguous copy, made byte by byte.
[[nodiscard]] Tensor copied_by_bytes(const Tensor& x);

/// Values of `dtype`: small numbers, seldom an infinity or NaN.
[[nodiscard]] Tensor random_values(const Shape& shape, DType dtype, Dice& dice);

/// The elements of `x` in memory with dimensions in another order, gaps between elements and an offset.
[[nodiscard]] Tensor scattered(const Tensor& x, Dice& dice);

/// As random_values, in a random layout: contiguous, scattered or with repeated elements (stride 0).
[[nodiscard]] Tensor random_tensor(const Shape& shape, DType dtype, Dice& dice);

[[nodiscard]] Shape random_shape(Dice& dice);
[[nodiscard]] DType random_dtype(Dice& dice);
/// A shape that broadcasts with `shape`.
[[nodiscard]] Shape random_partner(const Shape& shape, Dice& dice);

/// A view of some of the elements of `x`, or the same elements arranged otherwise. What was done is added to `text`.
[[nodiscard]] Tensor random_view(const Tensor& x, Dice& dice, std::string& text);

/// "f32 (2, 3) strides (1, 2) offset 4"
[[nodiscard]] std::string layout_of(const Tensor& x);

}  // namespace troupe::testing
