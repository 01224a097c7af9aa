#include "autograd/nn/dropout.h"

#include <fmt/format.h>

#include "autograd/ops/nn.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

double checked(const char* layer, double probability) {
  if (probability >= 0.0 && probability < 1.0) return probability;
  throw ValueError(fmt::format("[{}] probability outside [0, 1): {}", layer, probability));
}

}  // namespace

Dropout::Dropout(double probability, Generator& generator)
    : probability_(checked("Dropout", probability)), generator_(generator.next_u64()) {
  add_generator("generator", generator_);
}
Dropout1d::Dropout1d(double probability, Generator& generator)
    : probability_(checked("Dropout1d", probability)), generator_(generator.next_u64()) {
  add_generator("generator", generator_);
}
Dropout2d::Dropout2d(double probability, Generator& generator)
    : probability_(checked("Dropout2d", probability)), generator_(generator.next_u64()) {
  add_generator("generator", generator_);
}

Variable Dropout::forward(const Variable& x) {
  return mode() == Mode::train ? dropout(x, probability_, generator_) : x;
}
Variable Dropout1d::forward(const Variable& x) {
  return mode() == Mode::train ? dropout1d(x, probability_, generator_) : x;
}
Variable Dropout2d::forward(const Variable& x) {
  return mode() == Mode::train ? dropout2d(x, probability_, generator_) : x;
}

}  // namespace troupe::nn
