// Checks of header fields that all file formats share.
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

/// Returns the size of a tensor in bytes. Returns nullopt if a size is negative or the product of the sizes other than
/// 0 overflows: then the strides would overflow too.
[[nodiscard]] inline std::optional<std::uint64_t> nbytes_of(const Shape& shape, DType dtype) {
  auto product = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(shape.numel()) * size_of(dtype);
}

/// Returns the index of the first byte that is neither 0 nor 1, which is not a valid bool; nullopt if there is none.
[[nodiscard]] inline std::optional<std::size_t> first_not_boolean(std::span<const std::byte> bytes) {
  const auto found = std::ranges::find_if(bytes, [](std::byte b) { return std::to_integer<unsigned>(b) > 1; });
  if (found == bytes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - bytes.begin());
}

}  // namespace troupe::detail
