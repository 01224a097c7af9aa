// Which dimensions an operation works on, in which order, and pairs of sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe {

/// Height and width, or a number for each of them.
using Size2d = std::array<std::int64_t, 2>;

/// Whether a reduced dimension stays with size 1.
enum class KeepDim : std::uint8_t { no, yes };

/// A list of dimensions, negative ones counted from the end: `sum(x, 1)`, `sum(x, {0, 2})`.
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

/// 0, 1, ..., rank - 1
[[nodiscard]] inline std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

/// For permute: `dim`, counted from the front, comes last; the others keep their order.
[[nodiscard]] inline std::vector<int> dims_with_last(int rank, int dim) {
  std::vector<int> dims = all_dims(rank);
  dims.erase(dims.begin() + dim);
  dims.push_back(dim);
  return dims;
}

/// For permute: undoes permute(dims).
[[nodiscard]] inline std::vector<int> inverse_order(const std::vector<int>& dims) {
  std::vector<int> back(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
  return back;
}

}  // namespace troupe::detail
