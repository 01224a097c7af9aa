#include "autograd/nn/pad.h"

#include "autograd/ops.h"

namespace troupe::nn {

Variable Pad::forward(const Variable& x) {
  return std::visit([&](auto with) { return pad(x, amounts_, with); }, with_);
}

}  // namespace troupe::nn
