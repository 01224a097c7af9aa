// Formats tensors with fmt: `fmt::print("w = {}\n", w)`. No other header includes this one, so fmt stays optional.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "tensor/print.h"

/// Formats to_string(tensor) with the format options of a string: "{:>40}".
template <>
struct fmt::formatter<troupe::Tensor> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const troupe::Tensor& tensor, Context& context) const {
    return formatter<std::string_view>::format(troupe::to_string(tensor), context);
  }
};
