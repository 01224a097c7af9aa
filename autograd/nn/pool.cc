#include "autograd/nn/pool.h"

#include "autograd/ops/pool.h"

namespace troupe::nn {

Variable MaxPool1d::forward(const Variable& x) { return max_pool1d(x, options_); }
Variable MaxPool2d::forward(const Variable& x) { return max_pool2d(x, options_); }
Variable AvgPool1d::forward(const Variable& x) { return avg_pool1d(x, options_); }
Variable AvgPool2d::forward(const Variable& x) { return avg_pool2d(x, options_); }
Variable AdaptiveAvgPool1d::forward(const Variable& x) { return adaptive_avg_pool1d(x, size_); }
Variable AdaptiveAvgPool2d::forward(const Variable& x) { return adaptive_avg_pool2d(x, size_); }
Variable AdaptiveMaxPool2d::forward(const Variable& x) { return adaptive_max_pool2d(x, size_); }

}  // namespace troupe::nn
