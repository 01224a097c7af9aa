// How an operation that is made of others reads its inputs.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include "autograd/variable.h"

namespace troupe::detail {

/// `input` with the value that it has now, whatever set_value() gives it later. Its gradient goes where that of `input`
/// goes; its identity is another one, so it is not for users. An undefined variable stays one.
[[nodiscard]] Variable as_it_is(const Variable& input);

/// All inputs as they are now, for an operation whose parts read one of them more than once: set_value() of another
/// thread cannot put two versions of a variable into it. One that is given twice is read once and stays one variable.
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

}  // namespace troupe::detail
