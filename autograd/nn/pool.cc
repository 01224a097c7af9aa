#include "autograd/nn/pool.h"

#include "autograd/ops_nn.h"

namespace troupe::nn {

Variable MaxPool2d::forward(const Variable& x) { return max_pool2d(x, options_); }

}  // namespace troupe::nn
