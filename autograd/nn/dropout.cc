#include "autograd/nn/dropout.h"

#include <fmt/format.h>

#include "autograd/ops_nn.h"
#include "tensor/error.h"

namespace troupe::nn {

Dropout::Dropout(double probability, Generator& generator)
    : probability_(probability), generator_(generator.next_u64()) {
  if (!(probability >= 0.0 && probability < 1.0)) {
    throw ValueError(fmt::format("[Dropout] probability outside [0, 1): {}", probability));
  }
}

Variable Dropout::forward(const Variable& x) {
  return mode() == Mode::train ? dropout(x, probability_, generator_) : x;
}

}  // namespace troupe::nn
