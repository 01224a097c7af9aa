// Arguments that name dimensions, orders of dimensions, and pairs of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace troupe {

/// Height and width, or one number for each of the two. One number alone stands for both: `{.kernel = 3, .stride = 2}`.
struct Size2d {
  std::int64_t height;
  std::int64_t width;

  constexpr Size2d(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Size2d(std::int64_t the_height, std::int64_t the_width) : height(the_height), width(the_width) {}

  /// Returns the height for 0, the width for 1.
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t dim) const { return dim == 0 ? height : width; }
  [[nodiscard]] constexpr std::int64_t& operator[](std::size_t dim) { return dim == 0 ? height : width; }
  friend constexpr bool operator==(const Size2d&, const Size2d&) = default;
};

/// Whether a reduction keeps the reduced dimensions, with size 1.
enum class KeepDim : std::uint8_t { no, yes };

/// A list of dimensions: `sum(x, 1)`, `sum(x, {0, 2})`. Negative ones count from the end.
class Axes {
 public:
  Axes(int axis);                         // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int> axes);  // NOLINT(google-explicit-constructor)
  Axes(std::vector<int> axes);            // NOLINT(google-explicit-constructor)
  [[nodiscard]] const std::vector<int>& values() const noexcept { return axes_; }

 private:
  std::vector<int> axes_;
};

}  // namespace troupe

namespace troupe::detail {

/// Returns 0, 1, ..., rank - 1.
[[nodiscard]] std::vector<int> all_dims(int rank);

/// Returns the argument of permute that moves `dim` to the end; the other dimensions keep their order.
/// REQUIRES: 0 <= dim < rank.
[[nodiscard]] std::vector<int> dims_with_last(int rank, int dim);

/// Returns the argument of permute that undoes permute(dims).
[[nodiscard]] std::vector<int> inverse_order(const std::vector<int>& dims);

}  // namespace troupe::detail
