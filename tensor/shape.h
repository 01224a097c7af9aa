// Shapes and strides of tensors, stored without heap memory, and the rules of broadcasting.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/error.h"

namespace troupe {

inline constexpr int kDimsMax = 16;

/// One entry of InlineDims. Converts from every integer type but bool; an unsigned value above 2^63 - 1 becomes
/// negative, which no size may be. Why a type of its own: `ones({2})` compiles and `ones(2)` does not.
class Extent {
 public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Extent(T value) noexcept  // NOLINT(google-explicit-constructor)
      : value_(static_cast<std::int64_t>(value)) {}
  constexpr operator std::int64_t() const noexcept { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  std::int64_t value_;
};

/// A list of at most 16 integers, stored inside the object. A 17th throws ShapeError
/// `[shape] more than 16 dimensions: 17`.
class InlineDims {
 public:
  InlineDims() = default;
  /// For `{2, 3}`. Why no std::initializer_list: GCC 12 does not compile one beside `co_yield` or `co_await`.
  /// Why a template: in `Shape({4})` overload resolution prefers the copy of `{4}`, which is no template.
  template <int = 1>
  InlineDims(Extent only) noexcept : values_{only}, size_(1) {}  // NOLINT(google-explicit-constructor)
  template <std::convertible_to<Extent>... Rest>
    requires(sizeof...(Rest) > 0)
  InlineDims(Extent first, Rest... rest)
      : InlineDims(
            std::span<const std::int64_t>(std::array<std::int64_t, 1 + sizeof...(Rest)>{first, Extent(rest)...})) {}
  explicit InlineDims(std::span<const std::int64_t> values);
  /// For a std::vector<std::int64_t>. Why a template: braces are never taken for a vector.
  template <std::same_as<std::vector<std::int64_t>> Vector>
  InlineDims(const Vector& values) : InlineDims(std::span<const std::int64_t>(values.data(), values.size())) {}

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + size_; }
  [[nodiscard]] std::int64_t back() const { return (*this)[size_ - 1]; }

  void push_back(std::int64_t value) { insert(size_, value); }
  void insert(int at, std::int64_t value);
  void erase(int at);

  friend bool operator==(const InlineDims& a, const InlineDims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kDimsMax> values_{};
  int size_ = 0;
};

/// The size of a tensor along each dimension; `{}` is the shape of a scalar.
class Shape : public InlineDims {
 public:
  using InlineDims::InlineDims;

  /// Returns how many elements a tensor of this shape has: 1 for a scalar, 0 if any size is 0.
  /// Throws ShapeError if a size is negative or the number does not fit: `[shape] negative size: (2, -1)`.
  [[nodiscard]] std::int64_t numel() const;
};

/// Elements (not bytes) between neighbours along each dimension. Never negative; 0 repeats one element.
class Strides : public InlineDims {
 public:
  using InlineDims::InlineDims;
};

/// "(8, 4)", "(3)", "()"
[[nodiscard]] std::string to_string(const InlineDims& dims);
std::ostream& operator<<(std::ostream& out, const InlineDims& dims);

/// Returns the strides of a tensor whose elements lie in row-major order without gaps.
[[nodiscard]] Strides contiguous_strides(const Shape& shape);

/// Returns `shape` with one more dimension at its end.
[[nodiscard]] Shape with_last(Shape shape, std::int64_t size);

/// Returns (outer, size, inner): the product of the sizes before `dim`, the size along `dim`, the product of the sizes
/// after it. REQUIRES: 0 <= dim < shape.size().
/// Throws ShapeError `[shape] too many elements: (4611686018427387904, 4, 0)` if a product overflows.
[[nodiscard]] Shape joined_around(const Shape& shape, int dim);

/// Returns the shape to which `a` and `b` broadcast. Dimensions align at the last one; aligned sizes are equal or one
/// is 1. Throws ShapeError `[op] shapes do not broadcast: (2, 3) and (4)` otherwise.
[[nodiscard]] Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

/// Returns whether a tensor of shape `from` can be expanded to `to`.
[[nodiscard]] bool broadcasts_to(const Shape& from, const Shape& to);

/// Returns `dim` counted from the front; -1 is the last dimension of `shape`.
/// Throws ShapeError `[op] dimension out of range: 2 of (3, 4)`.
[[nodiscard]] int normalize_dim(std::string_view op, int dim, const Shape& shape);

}  // namespace troupe
