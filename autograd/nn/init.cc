#include "autograd/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "tensor/create.h"

namespace troupe::nn {

std::int64_t fan_in(const Shape& weight) {
  if (weight.size() < 2) {
    throw ShapeError(fmt::format("[fan_in] a weight has at least 2 dimensions: {}", to_string(weight)));
  }
  std::int64_t count = 1;
  for (int i = 1; i < weight.size(); ++i) count *= weight[i];
  return count;
}

Tensor kaiming_uniform(const Shape& weight, Generator& generator, double slope, DType dtype) {
  const double gain = std::sqrt(2.0 / (1.0 + slope * slope));
  const double bound = gain * std::sqrt(3.0 / static_cast<double>(fan_in(weight)));
  return uniform(weight, -bound, bound, generator, dtype);
}

Tensor uniform_by_fan_in(const Shape& shape, std::int64_t inputs, Generator& generator, DType dtype) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  return uniform(shape, -bound, bound, generator, dtype);
}

}  // namespace troupe::nn
