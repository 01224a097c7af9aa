#include "autograd/nn/pad.h"

#include <utility>

#include "autograd/ops.h"

namespace troupe::nn {

Pad::Pad(std::vector<std::int64_t> amounts, double value) : amounts_(std::move(amounts)), with_(value) {}

Pad::Pad(std::vector<std::int64_t> amounts, PadMode mode) : amounts_(std::move(amounts)), with_(mode) {}

Variable Pad::forward(const Variable& x) {
  return std::visit([&](auto with) { return pad(x, amounts_, with); }, with_);
}

}  // namespace troupe::nn
