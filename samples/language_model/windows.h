// A text cut into examples: some words, and the word that follows them.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace samples {

/// n examples. Shapes: words (n, width) i64, next (n) i64.
struct Windows {
  troupe::Tensor words;
  troupe::Tensor next;

  [[nodiscard]] std::int64_t count() const { return next.size(0); }

  /// The examples at `rows` (i64), in this order.
  [[nodiscard]] Windows at(const troupe::Tensor& rows) const;
};

/// Every run of `width` tokens with the token after it. Requires more than `width` tokens.
[[nodiscard]] Windows windows_of(std::span<const std::int64_t> tokens, std::int64_t width);

}  // namespace samples
