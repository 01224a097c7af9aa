// Formats variables and tensors with fmt: `fmt::print("loss {}\n", loss)`. No other header includes this one, so only
// programs that use fmt need it.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "autograd/print.h"
#include "tensor/format.h"  // IWYU pragma: export

/// Formats as to_string(). Takes the format specification of a string: "{:>40}".
template <>
struct fmt::formatter<troupe::Variable> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const troupe::Variable& variable, Context& context) const {
    return formatter<std::string_view>::format(troupe::to_string(variable), context);
  }
};
