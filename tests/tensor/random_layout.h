// Random tensors in random layouts, and access to their elements without a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "tensor/generator.h"
#include "tensor/tensor.h"

namespace troupe::testing {

/// Random decisions of a test. Equal seeds give equal decisions.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}

  /// Returns an integer in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(generator_.below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }
  double real(double low, double high) { return low + (high - low) * generator_.uniform(); }
  /// Returns a dimension of `x`, sometimes counted from the end; 0 for a scalar.
  int dim_of(const Tensor& x) {
    const int dim = static_cast<int>(between(0, std::max(x.dim(), 1) - 1));
    return one_in(3) && x.dim() > 0 ? dim - x.dim() : dim;
  }
  /// Returns the numbers 0 ... count - 1 in random order.
  std::vector<int> order(int count);

  Generator& generator() { return generator_; }

 private:
  Generator generator_;
};

/// Calls visit(offset in bytes from the start of the storage) for each element in row-major order.
void for_each_offset(const Tensor& x, const std::function<void(std::size_t)>& visit);

/// Returns a contiguous copy, made byte by byte.
[[nodiscard]] Tensor copied_by_bytes(const Tensor& x);

/// Returns values of `dtype`: small numbers, rarely an infinity or NaN.
[[nodiscard]] Tensor random_values(const Shape& shape, DType dtype, Dice& dice);

/// Returns the elements of `x` in permuted memory order, with gaps between elements and an offset.
[[nodiscard]] Tensor scattered(const Tensor& x, Dice& dice);

/// Returns random_values in a random layout: contiguous, scattered or with repeated elements (stride 0).
[[nodiscard]] Tensor random_tensor(const Shape& shape, DType dtype, Dice& dice);

[[nodiscard]] Shape random_shape(Dice& dice);
[[nodiscard]] DType random_dtype(Dice& dice);
/// Returns a shape that broadcasts with `shape`.
[[nodiscard]] Shape random_partner(const Shape& shape, Dice& dice);

/// Returns a view of some elements of `x`, or all of them rearranged. Appends the operation to `text`.
[[nodiscard]] Tensor random_view(const Tensor& x, Dice& dice, std::string& text);

/// "f32 (2, 3) strides (1, 2) offset 4"
[[nodiscard]] std::string layout_of(const Tensor& x);

}  // namespace troupe::testing
