// The place of a value in a sorted row, the same on the CPU and on GPUs.
#pragma once

#include <cstdint>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

/// Returns how many of the `size` ascending elements of `row` are less than `value`, or, if `right`, not greater. NaN
/// is greater than all numbers; `value != value` holds only for NaN.
template <class T>
[[nodiscard]] TROUPE_HOST_DEVICE inline std::int64_t place_in(const T* row, std::int64_t size, T value, bool right) {
  std::int64_t begin = 0;
  for (std::int64_t count = size; count > 0;) {
    const std::int64_t half = count / 2;
    const T other = row[begin + half];
    const bool is_less = other < value || (value != value && other == other);
    const bool is_greater = value < other || (other != other && value == value);
    const bool behind = right ? !is_greater : is_less;
    begin = behind ? begin + half + 1 : begin;
    count = behind ? count - half - 1 : half;
  }
  return begin;
}

}  // namespace troupe::kernels
