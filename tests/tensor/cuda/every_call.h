// Every operation of tensor/ops.h and tensor/ops/, called in all its forms that kernels tell apart.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/tensor.h"

namespace troupe::testing {

using Results = std::vector<Tensor>;

/// Makes arguments on one device: the same numbers on each.
struct Given {
  Device device;

  /// From 0.1 to 0.9: logarithms, roots and probabilities have values.
  [[nodiscard]] Tensor x(const Shape& shape = {2, 3, 4}, std::uint64_t seed = 1) const {
    Generator generator(seed);
    return uniform(shape, 0.1, 0.9, generator).to(device);
  }
  [[nodiscard]] Tensor y(const Shape& shape = {2, 3, 4}) const { return x(shape, 2); }
  /// From -1 to 1.
  [[nodiscard]] Tensor signed_x(const Shape& shape = {2, 3, 4}) const { return (x(shape) - 0.5) * 2.5; }
  [[nodiscard]] Tensor index(const Shape& shape, std::int64_t size) const {
    Generator generator(3);
    return randint(0, size, shape, generator).to(device);
  }
  [[nodiscard]] Tensor flags() const { return gt(x(), 0.5); }
};

/// One operation.
struct Call {
  std::string_view name;
  Results (*run)(const Given& given);
};
using Calls = std::vector<Call>;

/// All of them: rows of tables, a family each.
[[nodiscard]] Calls every_call();

}  // namespace troupe::testing
