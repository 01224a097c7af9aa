// Tensors for fmt: `fmt::print("w = {}\n", w)`. For programs that use fmt; no other header includes this one.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "tensor/print.h"

/// As to_string(); takes what a text takes: "{:>40}".
template <>
struct fmt::formatter<troupe::Tensor> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const troupe::Tensor& tensor, Context& context) const {
    return formatter<std::string_view>::format(troupe::to_string(tensor), context);
  }
};
