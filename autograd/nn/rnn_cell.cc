#include "autograd/nn/rnn_cell.h"

#include <fmt/format.h>

#include "autograd/nn/init.h"
#include "autograd/ops.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

/// Returns the input of one step as the input of a layer with one time step.
Variable as_layer(const Variable& x) { return unsqueeze(x, 0); }

}  // namespace

RecurrentCell::RecurrentCell(const char* name, std::int64_t gates, std::int64_t inputs, std::int64_t hidden,
                             Generator& generator, Bias bias, DType dtype) {
  if (inputs < 1 || hidden < 1) throw ValueError(fmt::format("[{}] sizes below 1: {} -> {}", name, inputs, hidden));
  const auto add = [&](const char* parameter, const Shape& shape) {
    return add_parameter(parameter, uniform_by_fan_in(shape, hidden, generator, dtype));
  };
  parameters_.input = add("weight_ih", {gates * hidden, inputs});
  parameters_.hidden = add("weight_hh", {gates * hidden, hidden});
  if (bias == Bias::no) return;
  parameters_.input_bias = add("bias_ih", {gates * hidden});
  parameters_.hidden_bias = add("bias_hh", {gates * hidden});
}

LstmState LstmCell::forward(const Variable& x, const LstmState& state) {
  const RnnOutputs outputs = lstm(as_layer(x), parameters_of_step(), state.hidden, state.cell);
  return {outputs.hidden, outputs.cell};
}

Variable GruCell::forward(const Variable& x, const Variable& hidden) {
  return gru(as_layer(x), parameters_of_step(), hidden).hidden;
}

Variable RnnCell::forward(const Variable& x, const Variable& hidden) {
  return rnn(as_layer(x), parameters_of_step(), hidden, nonlinearity_).hidden;
}

}  // namespace troupe::nn
