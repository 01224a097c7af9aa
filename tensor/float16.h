// The 16-bit floats: storage and wire formats. They convert to float for arithmetic.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace troupe {
namespace detail {

// Each overload rounds `value` to odd: the last bit of an inexact result is 1. Rounding this float to 16 bits gives the
// same as rounding `value` directly (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
// algorithms using rounding to odd", 2008). Rounding to nearest first could create a tie.

constexpr float cut_to_float(float value) noexcept { return value; }

constexpr float cut_to_float(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || value != value) return nearest;
  const bool is_beyond = value < 0.0 ? back < value : back > value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(nearest) - (is_beyond ? 1U : 0U)) | 1U);
}

template <std::integral T>
constexpr float cut_to_float(T value) noexcept {
  if constexpr (std::numeric_limits<T>::digits <= std::numeric_limits<float>::digits) {
    return static_cast<float>(value);
  } else if constexpr (std::numeric_limits<T>::digits <= std::numeric_limits<double>::digits) {
    return cut_to_float(static_cast<double>(value));
  } else {
    // Rounds to odd to double first, which holds 53 of the 64 bits.
    constexpr T kExact = T{1} << 53U;
    constexpr T kTail = 0xFFF;
    bool is_large = value > kExact;
    if constexpr (std::is_signed_v<T>) is_large = is_large || value < -kExact;
    const T cut = is_large && (value & kTail) != 0 ? static_cast<T>((value & ~kTail) | 0x800) : value;
    return cut_to_float(static_cast<double>(cut));
  }
}

// The functions compute all cases and select one, without branches, so that loops over them vectorise.

constexpr std::uint16_t half_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  // Changes the exponent's bias from 127 to 15. Rounds by adding half of the last kept bit, 1 less if that bit is 0.
  const std::uint32_t normal = (magnitude - (112U << 23U) + 0xFFFU + ((magnitude >> 13U) & 1U)) >> 13U;
  // A Half below 2^-14 is a multiple of 2^-24, the last bit of a float in [0.5, 1): adding 0.5 rounds to a multiple.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F00'0000U;
  std::uint32_t result = magnitude < 0x3880'0000U ? small : normal;
  result = magnitude >= 0x477F'F000U ? 0x7C00U : result;  // 65520: midway between the largest Half, 65504, and 2^16
  result = magnitude > 0x7F80'0000U ? 0x7E00U | ((magnitude >> 13U) & 0x3FFU) : result;
  return static_cast<std::uint16_t>(result | ((bits >> 16U) & 0x8000U));
}

constexpr float half_value(std::uint16_t half) noexcept {
  const std::uint32_t magnitude = (half & 0x7FFFU) << 13U;
  const std::uint32_t normal = magnitude + (112U << 23U);
  const auto small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(normal + (1U << 23U)) - 0x1p-14F);
  std::uint32_t result = magnitude < 0x0080'0000U ? small : normal;
  result = magnitude >= 0x0F80'0000U ? magnitude | 0x7F80'0000U : result;
  return std::bit_cast<float>(result | ((half & 0x8000U) << 16U));
}

constexpr std::uint16_t bfloat16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t number = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t nan = (bits >> 16U) | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7FFF'FFFFU) > 0x7F80'0000U ? nan : number);
}

constexpr float bfloat16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// A type from which a 16-bit float is constructed.
template <class T>
concept RoundedNumber = std::integral<T> || std::same_as<T, float> || std::same_as<T, double>;

}  // namespace detail

/// IEEE 754 binary16: 11 bits of precision, largest value 65504, subnormals down to 2^-24.
struct Half {
  std::uint16_t bits = 0;

  constexpr Half() noexcept = default;
  /// Rounds to nearest, ties to even; 65520 and above becomes infinity. NaN keeps the upper bits of its payload.
  template <detail::RoundedNumber T>
  explicit constexpr Half(T value) noexcept : bits(detail::half_bits(detail::cut_to_float(value))) {}
  [[nodiscard]] static constexpr Half from_bits(std::uint16_t bits) noexcept {
    Half result;
    result.bits = bits;
    return result;
  }
  /// Exact.
  constexpr operator float() const noexcept { return detail::half_value(bits); }  // NOLINT(google-explicit-constructor)
};

/// The upper 16 bits of an f32: 8 bits of precision, the range of f32.
struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() noexcept = default;
  /// Rounds to nearest, ties to even. NaN keeps the upper bits of its payload.
  template <detail::RoundedNumber T>
  explicit constexpr BFloat16(T value) noexcept : bits(detail::bfloat16_bits(detail::cut_to_float(value))) {}
  [[nodiscard]] static constexpr BFloat16 from_bits(std::uint16_t bits) noexcept {
    BFloat16 result;
    result.bits = bits;
    return result;
  }
  /// Exact.
  constexpr operator float() const noexcept {  // NOLINT(google-explicit-constructor)
    return detail::bfloat16_value(bits);
  }
};

}  // namespace troupe
