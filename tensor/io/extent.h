// Checks that every file format needs of what a header claims.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace troupe::detail {

/// Returns the bytes of a tensor, or nothing if the sizes are negative or their product, zeros aside, does not fit:
/// then the strides would not fit either.
[[nodiscard]] inline std::optional<std::uint64_t> nbytes_of(const Shape& shape, DType dtype) {
  auto product = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(shape.numel()) * size_of(dtype);
}

/// Returns the place of the first byte that is neither 0 nor 1, which no bool may be.
[[nodiscard]] inline std::optional<std::size_t> first_not_boolean(std::span<const std::byte> bytes) {
  const auto found = std::ranges::find_if(bytes, [](std::byte b) { return std::to_integer<unsigned>(b) > 1; });
  if (found == bytes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - bytes.begin());
}

}  // namespace troupe::detail
