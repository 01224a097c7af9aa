// Integers in the byte order of the wire, at fixed offsets.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace troupe::detail {

/// Writes `value` to the first sizeof(value) bytes of `to`. Requires that they exist.
template <std::unsigned_integral T>
void store_little_endian(std::span<std::byte> to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Reads a T from the first sizeof(T) bytes of `from`. Requires that they exist.
template <std::unsigned_integral T>
[[nodiscard]] T load_little_endian(std::span<const std::byte> from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | (static_cast<T>(from[i]) << (8 * i)));
  return value;
}

}  // namespace troupe::detail
