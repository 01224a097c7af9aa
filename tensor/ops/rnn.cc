#include "tensor/ops/rnn.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/promotion.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {
namespace {

void check_shape(std::string_view op, const Tensor& x, const char* name, const Tensor& other, const Shape& wanted) {
  if (other.shape() == wanted) return;
  throw ShapeError(fmt::format("[{}] sizes differ: x {}, {} {} instead of {}", op, to_string(x.shape()), name,
                               to_string(other.shape()), to_string(wanted)));
}

void check(std::string_view op, RnnCell cell, const Tensor& x, const RnnWeights& w, const Tensor& hidden,
           const Tensor& first_cell) {
  for (const Tensor* given : {&w.input, &w.hidden}) detail::require_together(op, x, *given);
  for (const Tensor* given : {&w.input_bias, &w.hidden_bias, &hidden, &first_cell}) {
    if (given->defined()) detail::require_together(op, x, *given);
  }
  detail::require_rank(op, x.shape(), 3);
  detail::require_rank(op, w.input.shape(), 2);
  detail::require_rank(op, w.hidden.shape(), 2);
  if (x.size(0) == 0) throw ShapeError(fmt::format("[{}] no time steps: {}", op, to_string(x.shape())));
  const std::int64_t h = w.hidden.size(1);
  const std::int64_t wide = h * kernels::gate_count(cell);
  check_shape(op, x, "input weight", w.input, {wide, x.size(2)});
  check_shape(op, x, "hidden weight", w.hidden, {wide, h});
  if (w.input_bias.defined()) check_shape(op, x, "input bias", w.input_bias, {wide});
  if (w.hidden_bias.defined()) check_shape(op, x, "hidden bias", w.hidden_bias, {wide});
  if (hidden.defined()) check_shape(op, x, "hidden state", hidden, {x.size(1), h});
  if (first_cell.defined()) check_shape(op, x, "cell state", first_cell, {x.size(1), h});
}

DType promoted(std::string_view op, std::initializer_list<const Tensor*> all) {
  DType dtype = (*all.begin())->dtype();
  for (const Tensor* x : all) {
    if (x->defined()) dtype = promote(dtype, x->dtype());
  }
  if (!is_floating(dtype)) throw DTypeError(fmt::format("[{}] not floating: {}", op, name_of(dtype)));
  return dtype;
}

/// Returns `x` contiguous in `dtype`; undefined if `x` is.
Tensor plain(const Tensor& x, DType dtype) { return x.defined() ? x.to(dtype).contiguous() : x; }

/// Returns the sum of both biases, or undefined. Leaves out the hidden bias of a GRU's candidate, which is added later.
Tensor bias_of_sums(RnnCell cell, const RnnWeights& w, DType wide) {
  const Tensor input = plain(w.input_bias, wide);
  if (!w.hidden_bias.defined()) return input;
  Tensor hidden = w.hidden_bias.to(wide).clone();
  if (cell == RnnCell::gru) hidden.slice(0, hidden.size(0) / 3 * 2).fill(0.0);
  return input.defined() ? add(input, hidden) : hidden;
}

RnnResult run(std::string_view op, RnnCell cell, const Tensor& x, const RnnWeights& w, const Tensor& hidden,
              const Tensor& first_cell, TimeDirection direction) {
  check(op, cell, x, w, hidden, first_cell);
  const DType dtype = promoted(op, {&x, &w.input, &w.hidden, &w.input_bias, &w.hidden_bias, &hidden, &first_cell});
  const DType wide = compute_dtype(dtype);
  const Shape steps{x.size(0), x.size(1), w.hidden.size(1)};
  const auto if_cell = [&](RnnCell wanted) { return cell == wanted ? empty(steps, wide, x.device()) : Tensor(); };
  RnnTape tape{.cell = cell,
               .direction = direction,
               .hidden_weight = plain(w.hidden, wide),
               .first_hidden = plain(hidden, wide),
               .first_cell = plain(first_cell, wide),
               .gates = matmul(plain(x, wide), w.input.to(wide).transpose()),
               .cells = if_cell(RnnCell::lstm),
               .tanh_cells = if_cell(RnnCell::lstm),
               .candidates = if_cell(RnnCell::gru),
               .output = empty(steps, wide, x.device())};
  if (tape.output.numel() > 0) {
    const bool has_candidate = cell == RnnCell::gru && w.hidden_bias.defined();
    kernels_of(tape.output)
        .recurrent(tape, bias_of_sums(cell, w, wide),
                   has_candidate ? plain(w.hidden_bias.slice(0, 2 * steps[2]), wide) : Tensor());
  }
  if (cell == RnnCell::tanh || cell == RnnCell::relu) tape.gates = {};
  const std::int64_t last = direction == TimeDirection::forward ? steps[0] - 1 : 0;
  const auto at_last = [&](const Tensor& all) { return all.defined() ? all.select(0, last).clone().to(dtype) : all; };
  return {.output = tape.output.to(dtype), .hidden = at_last(tape.output), .cell = at_last(tape.cells), .tape = tape};
}

/// Returns a writable copy of the gradient of a state; zeros if it is undefined.
Tensor own_gradient(const Tensor& given, const Shape& shape, const Tensor& like) {
  if (!given.defined()) return zeros(shape, like.dtype(), like.device());
  return given.to(like.dtype()).clone();
}

}  // namespace

RnnResult lstm(const Tensor& x, const RnnWeights& weights, const Tensor& hidden, const Tensor& cell,
               TimeDirection direction) {
  return run("lstm", RnnCell::lstm, x, weights, hidden, cell, direction);
}

RnnResult gru(const Tensor& x, const RnnWeights& weights, const Tensor& hidden, TimeDirection direction) {
  return run("gru", RnnCell::gru, x, weights, hidden, {}, direction);
}

RnnResult rnn(const Tensor& x, const RnnWeights& weights, const Tensor& hidden, RnnNonlinearity nonlinearity,
              TimeDirection direction) {
  const RnnCell cell = nonlinearity == RnnNonlinearity::tanh ? RnnCell::tanh : RnnCell::relu;
  return run("rnn", cell, x, weights, hidden, {}, direction);
}

RnnStepGradients rnn_backward(const RnnResultGradients& grad, const RnnTape& tape) {
  const Tensor& output = tape.output;
  for (const Tensor* given : {&grad.output, &grad.hidden, &grad.cell}) {
    if (given->defined()) detail::require_together("rnn_backward", *given, output);
  }
  const DType wide = output.dtype();
  const Shape state{output.size(1), output.size(2)};
  const Shape sums{output.size(0), output.size(1), output.size(2) * kernels::gate_count(tape.cell)};
  const bool is_lstm = tape.cell == RnnCell::lstm;
  const bool is_gru = tape.cell == RnnCell::gru;
  kernels::RecurrentGradients gradients{.by_output = plain(grad.output, wide),
                                        .by_hidden = own_gradient(grad.hidden, state, output),
                                        .by_cell = is_lstm ? own_gradient(grad.cell, state, output) : Tensor(),
                                        .by_gates = empty(sums, wide, output.device()),
                                        .by_from_hidden = is_gru ? empty(sums, wide, output.device()) : Tensor()};
  if (output.numel() > 0) kernels_of(tape.output).recurrent_backward(tape, gradients);
  return {.hidden = gradients.by_hidden,
          .cell = gradients.by_cell,
          .from_input = gradients.by_gates,
          .from_hidden = is_gru ? gradients.by_from_hidden : gradients.by_gates};
}

Tensor rnn_backward_input_weight(const Tensor& from_input, const Tensor& x) {
  return matmul(flatten(from_input, 0, 1).transpose(), flatten(x.to(from_input.dtype()), 0, 1));
}

Tensor rnn_backward_hidden_weight(const Tensor& from_hidden, const RnnTape& tape) {
  const std::int64_t steps = from_hidden.size(0);
  const bool forward = tape.direction == TimeDirection::forward;
  // The hidden weight multiplies the output of the previous step; the first step, the initial state.
  const Tensor later = forward ? from_hidden.slice(0, 1) : from_hidden.slice(0, 0, steps - 1);
  const Tensor before = forward ? tape.output.slice(0, 0, steps - 1) : tape.output.slice(0, 1);
  Tensor result = matmul(flatten(later, 0, 1).transpose(), flatten(before, 0, 1));
  if (tape.first_hidden.defined()) {
    const Tensor first = from_hidden.select(0, forward ? 0 : steps - 1);
    add_into(result, matmul(first.transpose(), tape.first_hidden));
  }
  return result;
}

}  // namespace troupe
