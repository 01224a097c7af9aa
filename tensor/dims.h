// Arguments that name dimensions, orders of dimensions, and pairs of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>
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
  Axes(int axis) : axes_{axis} {}                          // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   // NOLINT(google-explicit-constructor)
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const std::vector<int>& values() const noexcept { return axes_; }

 private:
  std::vector<int> axes_;
};

}  // namespace troupe

namespace troupe::detail {

/// Returns 0, 1, ..., rank - 1.
[[nodiscard]] inline std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

/// Returns the argument of permute that moves `dim` to the end; the other dimensions keep their order.
/// REQUIRES: 0 <= dim < rank.
[[nodiscard]] inline std::vector<int> dims_with_last(int rank, int dim) {
  std::vector<int> dims = all_dims(rank);
  dims.erase(dims.begin() + dim);
  dims.push_back(dim);
  return dims;
}

/// Returns the argument of permute that undoes permute(dims).
[[nodiscard]] inline std::vector<int> inverse_order(const std::vector<int>& dims) {
  std::vector<int> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
  return back;
}

}  // namespace troupe::detail
