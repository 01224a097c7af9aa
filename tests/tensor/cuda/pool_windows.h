// Lists of pooling windows, computed by a slow reference.
#pragma once

#include <algorithm>

#include "tensor/kernels/pooling.h"

namespace troupe::testing {

/// The arrangement of windows along one dimension.
struct PoolCase {
  std::int64_t size;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;
  bool partial = false;         ///< the last window may extend beyond the padding
  bool counts_padding = false;  ///< a mean divides by a count that includes the padding
};

inline kernels::PoolWindows windows_of(const PoolCase& c) {
  kernels::PoolWindows windows{.begin = {},
                               .end = {},
                               .counted = {},
                               .step = c.dilation,
                               .first = -c.padding,
                               .stride = c.stride,
                               .kernel = c.kernel};
  const std::int64_t reach = (c.kernel - 1) * c.dilation + 1;
  for (std::int64_t start = -c.padding; c.partial ? start < c.size && start + reach < c.size + c.padding + c.stride
                                                  : start + reach <= c.size + c.padding;
       start += c.stride) {
    std::int64_t begin = start;
    while (begin < 0) begin += c.dilation;
    windows.begin.push_back(begin);
    windows.end.push_back(std::min(start + reach, c.size));
    windows.counted.push_back(c.counts_padding ? std::min(start + reach, c.size + c.padding) - start
                                               : windows.end.back() - begin);
  }
  return windows;
}

/// Returns the windows of adaptive pooling; regular windows if the parts are equal.
inline kernels::PoolWindows parts_of(std::int64_t size, std::int64_t count) {
  kernels::PoolWindows windows;
  if (size % count == 0) windows.stride = windows.kernel = size / count;
  for (std::int64_t i = 0; i < count; ++i) {
    windows.begin.push_back(i * size / count);
    windows.end.push_back(((i + 1) * size + count - 1) / count);
    windows.counted.push_back(windows.end.back() - windows.begin.back());
  }
  return windows;
}

}  // namespace troupe::testing
