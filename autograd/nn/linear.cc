#include "autograd/nn/linear.h"

#include <fmt/format.h>

#include "autograd/nn/init.h"
#include "autograd/ops/nn.h"
#include "tensor/error.h"

namespace troupe::nn {

Linear::Linear(std::int64_t inputs, std::int64_t outputs, Generator& generator, Bias bias, DType dtype) {
  if (inputs < 1 || outputs < 1) throw ValueError(fmt::format("[Linear] sizes below 1: {} -> {}", inputs, outputs));
  weight_ = add_parameter("weight", uniform_by_fan_in({outputs, inputs}, inputs, generator, dtype));
  if (bias == Bias::yes) bias_ = add_parameter("bias", uniform_by_fan_in({outputs}, inputs, generator, dtype));
}

Variable Linear::forward(const Variable& x) { return linear(x, weight_, bias_); }

}  // namespace troupe::nn
