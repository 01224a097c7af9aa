// Which dimensions an operation works on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace troupe {

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
