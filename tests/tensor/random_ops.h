// Operations with random arguments.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"
#include "tests/tensor/random_layout.h"

namespace troupe::testing {

using Operands = std::vector<Tensor>;

/// The guarantee of tensor/README.md for equal values in different layouts: equal bits, or, for products and
/// convolutions, sums of the same terms in another order.
enum class Agreement : std::uint8_t { bits, rounded };

/// An operation and its arguments.
struct Step {
  std::string text;
  Operands operands;
  std::function<Tensor(const Operands&)> run;
  Agreement agreement = Agreement::bits;
};

struct RandomOp {
  std::string name;
  /// Returns the operation on `x` with random further arguments.
  std::function<Step(const Tensor& x, Dice& dice)> with;
};

/// Returns the operations of ops.h and the headers it includes, softmax, losses, normalisation, pooling and
/// convolution.
[[nodiscard]] std::vector<RandomOp> random_ops();

}  // namespace troupe::testing
