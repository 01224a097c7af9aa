#include "autograd/nn/reshape.h"

#include "autograd/ops.h"

namespace troupe::nn {

Variable Identity::forward(const Variable& x) { return x; }
Variable Flatten::forward(const Variable& x) { return flatten(x, first_dim_, last_dim_); }
Variable Unflatten::forward(const Variable& x) { return unflatten(x, dim_, sizes_); }

}  // namespace troupe::nn
