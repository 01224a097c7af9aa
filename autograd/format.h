// Variables and tensors for fmt: `fmt::print("loss {}\n", loss)`. For programs that use fmt; no other header includes
// this one.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "autograd/print.h"
#include "tensor/format.h"  // IWYU pragma: export

/// As to_string(); takes what a text takes: "{:>40}".
template <>
struct fmt::formatter<troupe::Variable> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const troupe::Variable& variable, Context& context) const {
    return formatter<std::string_view>::format(troupe::to_string(variable), context);
  }
};
