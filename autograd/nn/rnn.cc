#include "autograd/nn/rnn.h"

#include <fmt/format.h>

#include "autograd/nn/init.h"
#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

std::int64_t directions(const RnnOptions& options) { return options.bidirectional ? 2 : 1; }

Variable with_batch(const Variable& x, int dim) { return x.defined() ? unsqueeze(x, dim) : x; }
Variable without_batch(const Variable& x, int dim) { return x.defined() ? squeeze(x, dim) : x; }

Variable part(const Variable& state, std::int64_t index) { return state.defined() ? select(state, 0, index) : state; }

}  // namespace

RecurrentModule::RecurrentModule(const char* name, std::int64_t gates, std::int64_t inputs, std::int64_t hidden,
                                 Generator& generator, const RnnOptions& options)
    : name_(name), inputs_(inputs), hidden_(hidden), options_(options), generator_(generator.next_u64()) {
  if (inputs < 1 || hidden < 1 || options.layers < 1) {
    throw ValueError(fmt::format("[{}] sizes below 1: {} -> {}, layers {}", name, inputs, hidden, options.layers));
  }
  if (!(options.dropout >= 0.0 && options.dropout < 1.0)) {
    throw ValueError(fmt::format("[{}] dropout outside [0, 1): {}", name, options.dropout));
  }
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::int64_t from = layer == 0 ? inputs : hidden * directions(options);
    const std::string suffix = fmt::format("_l{}", layer);
    parameters_.push_back(add_layer(suffix, gates, from, generator));
    if (options.bidirectional) parameters_.push_back(add_layer(suffix + "_reverse", gates, from, generator));
  }
  add_generator("generator", generator_);
}

RnnParameters RecurrentModule::add_layer(const std::string& suffix, std::int64_t gates, std::int64_t inputs,
                                         Generator& generator) {
  const auto add = [&](const char* name, const Shape& shape) {
    return add_parameter(name + suffix, uniform_by_fan_in(shape, hidden_, generator, options_.dtype));
  };
  RnnParameters result;
  result.input = add("weight_ih", {gates * hidden_, inputs});
  result.hidden = add("weight_hh", {gates * hidden_, hidden_});
  if (options_.bias == Bias::yes) {
    result.input_bias = add("bias_ih", {gates * hidden_});
    result.hidden_bias = add("bias_hh", {gates * hidden_});
  }
  return result;
}

void RecurrentModule::check_state(const Variable& state, const Shape& wanted) const {
  if (!state.defined() || state.shape() == wanted) return;
  throw ShapeError(fmt::format("[{}] state is {}, not {}", name_, to_string(state.shape()), to_string(wanted)));
}

RnnOutputs RecurrentModule::run(const Variable& given, const Variable& first_hidden, const Variable& first_cell,
                                const OneLayer& one_layer) {
  const auto [x, hidden, cell] = detail::one_version_of(given, first_hidden, first_cell);
  const Shape shape = x.shape();
  const bool batched = shape.size() == 3;
  if ((!batched && shape.size() != 2) || shape[shape.size() - 1] != inputs_) {
    const char* const order = options_.batch_first ? "examples, steps" : "steps, examples";
    throw ShapeError(fmt::format("[{}] x is not ({}, {}): {}", name_, order, inputs_, to_string(shape)));
  }
  if (batched && !options_.batch_first) return run_batch(x, hidden, cell, one_layer);
  if (batched) {
    RnnOutputs outputs = run_batch(transpose(x, 0, 1), hidden, cell, one_layer);
    outputs.output = transpose(outputs.output, 0, 1);
    return outputs;
  }
  const Shape state{options_.layers * directions(options_), hidden_};
  check_state(hidden, state);
  check_state(cell, state);
  const RnnOutputs outputs = run_batch(unsqueeze(x, 1), with_batch(hidden, 1), with_batch(cell, 1), one_layer);
  return {squeeze(outputs.output, 1), squeeze(outputs.hidden, 1), without_batch(outputs.cell, 1)};
}

RnnOutputs RecurrentModule::run_batch(const Variable& x, const Variable& hidden, const Variable& cell,
                                      const OneLayer& one_layer) {
  const Shape state{options_.layers * directions(options_), x.shape()[1], hidden_};
  check_state(hidden, state);
  check_state(cell, state);
  Variable below = x;
  std::vector<Variable> last_hidden;
  std::vector<Variable> last_cell;
  for (std::int64_t layer = 0; layer < options_.layers; ++layer) {
    if (layer > 0 && options_.dropout > 0.0 && mode() == Mode::train)
      below = dropout(below, options_.dropout, generator_);
    std::vector<Variable> sides;
    for (std::int64_t side = 0; side < directions(options_); ++side) {
      const std::int64_t index = layer * directions(options_) + side;
      const RnnOutputs outputs =
          one_layer(below, parameters_[static_cast<std::size_t>(index)], part(hidden, index), part(cell, index),
                    side == 0 ? TimeDirection::forward : TimeDirection::reverse);
      sides.push_back(outputs.output);
      last_hidden.push_back(outputs.hidden);
      if (outputs.cell.defined()) last_cell.push_back(outputs.cell);
    }
    below = sides.size() == 1 ? sides.front() : concat(sides, 2);
  }
  return {below, stack(last_hidden, 0), last_cell.empty() ? Variable() : stack(last_cell, 0)};
}

RnnOutputs Lstm::forward(const Variable& x, const Variable& hidden, const Variable& cell) {
  return run(x, hidden, cell,
             [](const Variable& from, const RnnParameters& parameters, const Variable& h, const Variable& c,
                TimeDirection direction) { return lstm(from, parameters, h, c, direction); });
}

RnnOutputs Gru::forward(const Variable& x, const Variable& hidden) {
  return run(x, hidden, {},
             [](const Variable& from, const RnnParameters& parameters, const Variable& h, const Variable&,
                TimeDirection direction) { return gru(from, parameters, h, direction); });
}

RnnOutputs Rnn::forward(const Variable& x, const Variable& hidden) {
  return run(x, hidden, {},
             [this](const Variable& from, const RnnParameters& parameters, const Variable& h, const Variable&,
                    TimeDirection direction) { return rnn(from, parameters, h, nonlinearity_, direction); });
}

}  // namespace troupe::nn
