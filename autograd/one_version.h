// How an operation composed of other operations reads its inputs.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "autograd/variable.h"

namespace troupe::detail {

/// Returns a variable with the present value of the leaf `input`; a later set_value() does not change it. It has the
/// gradient edge of `input` but another identity, so it must not reach users. Any other `input` is returned itself: its
/// value never changes, or it is undefined.
[[nodiscard]] Variable as_it_is(const Variable& input);

/// Returns all inputs with their present values, for an operation whose parts read an input more than once. A
/// set_value() of another thread thus cannot put two values of one variable into the operation. An input given twice is
/// read once and stays one variable.
template <std::same_as<Variable>... Inputs>
[[nodiscard]] std::array<Variable, sizeof...(Inputs)> one_version_of(const Inputs&... inputs) {
  const std::array<const Variable*, sizeof...(Inputs)> all{&inputs...};
  std::array<Variable, sizeof...(Inputs)> versions;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t first = 0;
    while (!same(*all[first], *all[i])) ++first;
    versions[i] = first < i ? versions[first] : as_it_is(*all[i]);
  }
  return versions;
}
/// As above for any number of inputs.
[[nodiscard]] std::vector<Variable> one_version_of(std::span<const Variable> inputs);

}  // namespace troupe::detail
