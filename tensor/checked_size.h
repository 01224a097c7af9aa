// Overflow-checked arithmetic on sizes from callers. Internal to tensor/.
#pragma once

#include <cstdint>

namespace troupe::detail {

/// A 64-bit integer that records whether any operation that led to it overflowed.
class CheckedSize {
 public:
  // Implicit, so that an operand may be a plain number.
  constexpr CheckedSize(std::int64_t value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr bool fits() const noexcept { return fits_; }
  /// REQUIRES: fits().
  [[nodiscard]] constexpr std::int64_t value() const noexcept { return value_; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) noexcept {
    CheckedSize result(0, a.fits_ && b.fits_);
    result.fits_ &= !__builtin_add_overflow(a.value_, b.value_, &result.value_);
    return result;
  }
  friend constexpr CheckedSize operator-(CheckedSize a, CheckedSize b) noexcept {
    CheckedSize result(0, a.fits_ && b.fits_);
    result.fits_ &= !__builtin_sub_overflow(a.value_, b.value_, &result.value_);
    return result;
  }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) noexcept {
    CheckedSize result(0, a.fits_ && b.fits_);
    result.fits_ &= !__builtin_mul_overflow(a.value_, b.value_, &result.value_);
    return result;
  }

 private:
  constexpr CheckedSize(std::int64_t value, bool fits) noexcept : value_(value), fits_(fits) {}

  std::int64_t value_;
  bool fits_ = true;
};

}  // namespace troupe::detail
