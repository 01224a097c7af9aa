// Pooling of variables. Names, shapes, dtypes and errors are those of tensor/ops/pool.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "autograd/variable.h"
#include "tensor/ops/pool.h"

namespace troupe {

// Max pooling gives the gradient of a window to its largest element, to the first of equal ones.

[[nodiscard]] Variable max_pool1d(const Variable& x, const MaxPool1dOptions& options = {});
[[nodiscard]] Variable max_pool2d(const Variable& x, const MaxPool2dOptions& options = {});
[[nodiscard]] Variable adaptive_max_pool2d(const Variable& x, const Size2d& size);

[[nodiscard]] Variable avg_pool1d(const Variable& x, const AvgPool1dOptions& options = {});
[[nodiscard]] Variable avg_pool2d(const Variable& x, const AvgPool2dOptions& options = {});
[[nodiscard]] Variable adaptive_avg_pool1d(const Variable& x, std::int64_t size);
[[nodiscard]] Variable adaptive_avg_pool2d(const Variable& x, const Size2d& size);

// One number for both sizes: max_pool2d(x, 2), max_pool2d(x, 3, 2, 1).

template <std::integral I>
[[nodiscard]] Variable max_pool2d(const Variable& x, I kernel, std::optional<std::int64_t> stride = {},
                                  std::int64_t padding = 0) {
  return max_pool2d(x, square_window<MaxPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding));
}
template <std::integral I>
[[nodiscard]] Variable avg_pool2d(const Variable& x, I kernel, std::optional<std::int64_t> stride = {},
                                  std::int64_t padding = 0) {
  return avg_pool2d(x, square_window<AvgPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding));
}

}  // namespace troupe
