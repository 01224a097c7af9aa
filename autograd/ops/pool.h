// Pooling of variables. Names, shapes, dtypes and errors are those of tensor/ops/pool.h.
#pragma once

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

}  // namespace troupe
