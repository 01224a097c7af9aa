// The windows of a pooling along one dimension, in the form that a kernel computes with.
#pragma once

#include <cstdint>

#include "tensor/kernels/host_device.h"
#include "tensor/kernels/pooling.h"

namespace troupe::cuda {

/// A kernels::PoolWindows over `size` positions without its lists. The windows are regular, or parts of equal size.
struct PoolAxis {
  std::int64_t size;
  std::int64_t count;
  std::int64_t first;
  std::int64_t stride;  ///< 0: window i of n covers floor(i size / n) to ceil((i + 1) size / n)
  std::int64_t kernel;
  std::int64_t step;
  bool counts_padding = false;  ///< a mean also counts the positions in the padding

  PoolAxis(const kernels::PoolWindows& windows, std::int64_t size_in)
      : size(size_in),
        count(windows.count()),
        first(windows.first),
        stride(windows.stride),
        kernel(windows.kernel),
        step(windows.step) {
    for (std::size_t i = 0; i < windows.begin.size(); ++i)
      counts_padding |= windows.counted[i] != windows.end[i] - windows.begin[i];
  }

  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t begin(std::int64_t i) const {
    if (stride == 0) return i * size / count;
    const std::int64_t start = first + i * stride;
    return start >= 0 ? start : start + (step - 1 - start) / step * step;
  }
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t end(std::int64_t i) const {
    if (stride == 0) return ((i + 1) * size + count - 1) / count;
    const std::int64_t stop = first + i * stride + (kernel - 1) * step + 1;
    return stop < size ? stop : size;
  }
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t counted(std::int64_t i) const {
    if (!counts_padding) return end(i) - begin(i);
    const std::int64_t start = first + i * stride;
    const std::int64_t padded = size - first;
    return (start + kernel < padded ? start + kernel : padded) - start;
  }

  /// Returns the first window whose span covers position `at`. If the step is 1, the window contains it.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t first_with(std::int64_t at) const {
    if (stride == 0) return at * count / size;
    const std::int64_t before = at - first - (kernel - 1) * step - 1;  // a window that starts here ends before `at`
    return before < 0 ? 0 : before / stride + 1;
  }
  /// Returns one past the last such window.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t last_with(std::int64_t at) const {
    if (stride == 0) return ((at + 1) * count + size - 1) / size;
    const std::int64_t behind = (at - first) / stride + 1;
    return behind < count ? behind : count;
  }
};

}  // namespace troupe::cuda
