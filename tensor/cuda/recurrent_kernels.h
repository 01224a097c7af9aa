// The kernels of tensor/kernels/recurrent.h for any launcher, see launcher.h, and any function that multiplies matrices
// like matmul.
//
// One thread computes one hidden unit of one example in one step. A null address stands for zeros.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/cuda/activation_formulas.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/recurrent_forward.h"
#include "tensor/kernels/recurrent.h"

namespace troupe::cuda {

/// One backward step. Members that its cell does not have are null.
template <class T>
struct StepBackward {
  GateLayout layout;
  T* by_hidden;  ///< in: by the hidden state, without the next two; out, GRU: by the previous one, without the gates
  const T* through;  ///< GRU: the part through the gates of the following step
  const T* by_output;
  T* by_cell;         ///< in: gradient by the cell; out: by the previous cell
  T* by_gates;        ///< out: gradient by the input's part of the sums
  T* by_from_hidden;  ///< GRU, out: gradient by the hidden state's part of the sums
  const T* gates;
  const T* output;
  const T* tanh_cell;
  const T* candidate;
  const T* previous_hidden;
  const T* previous_cell;

  [[nodiscard]] TROUPE_HOST_DEVICE T slope(std::int64_t at) const {
    return by_hidden[at] + or_zero(through, at) + or_zero(by_output, at);
  }
};

template <class T>
struct LstmBackward {
  StepBackward<T> s;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const T i = s.gates[s.layout.gate(at, 0)];
    const T f = s.gates[s.layout.gate(at, 1)];
    const T g = s.gates[s.layout.gate(at, 2)];
    const T o = s.gates[s.layout.gate(at, 3)];
    const T t = s.tanh_cell[at];
    const T by_hidden = s.slope(at);
    const T by_cell = s.by_cell[at] + by_hidden * o * (T{1} - t * t);
    s.by_gates[s.layout.gate(at, 0)] = by_cell * g * i * (T{1} - i);
    s.by_gates[s.layout.gate(at, 1)] = by_cell * or_zero(s.previous_cell, at) * f * (T{1} - f);
    s.by_gates[s.layout.gate(at, 2)] = by_cell * i * (T{1} - g * g);
    s.by_gates[s.layout.gate(at, 3)] = by_hidden * t * o * (T{1} - o);
    s.by_cell[at] = by_cell * f;
  }
};

template <class T>
struct GruBackward {
  StepBackward<T> s;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const T r = s.gates[s.layout.gate(at, 0)];
    const T z = s.gates[s.layout.gate(at, 1)];
    const T n = s.gates[s.layout.gate(at, 2)];
    const T by_hidden = s.slope(at);
    const T by_n = by_hidden * (T{1} - z) * (T{1} - n * n);
    const T by_r = by_n * s.candidate[at] * r * (T{1} - r);
    const T by_z = by_hidden * (or_zero(s.previous_hidden, at) - n) * z * (T{1} - z);
    s.by_gates[s.layout.gate(at, 0)] = by_r;
    s.by_gates[s.layout.gate(at, 1)] = by_z;
    s.by_gates[s.layout.gate(at, 2)] = by_n;
    s.by_from_hidden[s.layout.gate(at, 0)] = by_r;
    s.by_from_hidden[s.layout.gate(at, 1)] = by_z;
    s.by_from_hidden[s.layout.gate(at, 2)] = by_n * r;
    s.by_hidden[at] = by_hidden * z;
  }
};

template <class T>
struct PlainBackward {
  StepBackward<T> s;
  bool is_relu;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const T hidden = s.output[at];
    const T by_hidden = s.slope(at);
    if (is_relu) s.by_gates[at] = hidden <= T{0} ? T{0} : by_hidden;
    else s.by_gates[at] = by_hidden * (T{1} - hidden * hidden);
  }
};

template <class T>
struct AddTo {
  T* to;
  const T* x;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] += x[i]; }
};

/// Returns the address of step `at` of x (t, n, width); null if `x` is undefined.
template <class T>
const T* step_of(const Tensor& x, std::int64_t at) {
  return x.defined() ? address<T>(read(x)) + at * x.size(1) * x.size(2) : nullptr;
}
template <class T>
T* step_into(Tensor& x, std::int64_t at) {
  return x.defined() ? address<T>(written(x)) + at * x.size(1) * x.size(2) : nullptr;
}
template <class T>
const T* all_of(const Tensor& x) {
  return x.defined() ? address<T>(read(x)) : nullptr;
}

/// The steps of a layer in its order: the step at place i, and the step before it.
struct StepOrder {
  std::int64_t count;
  bool reverse;

  explicit StepOrder(const RnnTape& tape)
      : count(tape.output.size(0)), reverse(tape.direction == TimeDirection::reverse) {}
  [[nodiscard]] std::int64_t at(std::int64_t i) const { return reverse ? count - 1 - i : i; }
  [[nodiscard]] std::int64_t before(std::int64_t i) const { return at(i - 1); }
};

template <class T, class Launcher>
void start(const Launcher& launcher, RnnCell cell, std::int64_t count, const StepForward<T>& step) {
  switch (cell) {
    case RnnCell::lstm: return launcher.each(count, LstmForward<T>{step});
    case RnnCell::gru: return launcher.each(count, GruForward<T>{step});
    case RnnCell::tanh: return launcher.each(count, PlainForward<T>{step, false});
    case RnnCell::relu: return launcher.each(count, PlainForward<T>{step, true});
  }
}

template <class T, class Launcher>
void start(const Launcher& launcher, RnnCell cell, std::int64_t count, const StepBackward<T>& step) {
  switch (cell) {
    case RnnCell::lstm: return launcher.each(count, LstmBackward<T>{step});
    case RnnCell::gru: return launcher.each(count, GruBackward<T>{step});
    case RnnCell::tanh: return launcher.each(count, PlainBackward<T>{step, false});
    case RnnCell::relu: return launcher.each(count, PlainBackward<T>{step, true});
  }
}

template <class Launcher, class Multiply>
void recurrent_with(const Launcher& launcher, const Multiply& multiply, RnnTape& tape, const Tensor& bias,
                    const Tensor& candidate_bias) {
  const std::int64_t examples = tape.output.size(1);
  const GateLayout layout{tape.output.size(2), kernels::gate_count(tape.cell)};
  const StepOrder order(tape);
  const Tensor weight = tape.hidden_weight.transpose();
  Tensor from_hidden = Tensor::empty({examples, layout.size * layout.count}, tape.output.dtype(), tape.output.device());
  dispatch_floating("recurrent", tape.output.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < order.count; ++i) {
      const std::int64_t now = order.at(i);
      const Tensor hidden = i == 0 ? tape.first_hidden : tape.output.select(0, order.before(i));
      if (hidden.defined()) multiply(from_hidden, hidden, weight);
      StepForward<T> step{.layout = layout,
                          .gates = step_into<T>(tape.gates, now),
                          .from_hidden = hidden.defined() ? all_of<T>(from_hidden) : nullptr,
                          .bias = all_of<T>(bias),
                          .candidate_bias = all_of<T>(candidate_bias),
                          .previous_hidden = nullptr,
                          .previous_cell = nullptr,
                          .cell = step_into<T>(tape.cells, now),
                          .tanh_cell = step_into<T>(tape.tanh_cells, now),
                          .candidate = step_into<T>(tape.candidates, now),
                          .hidden = step_into<T>(tape.output, now)};
      step.previous_hidden = all_of<T>(hidden);
      step.previous_cell = i == 0 ? all_of<T>(tape.first_cell) : step_of<T>(tape.cells, order.before(i));
      start(launcher, tape.cell, examples * layout.size, step);
    }
  });
}

template <class Launcher, class Multiply>
void recurrent_backward_with(const Launcher& launcher, const Multiply& multiply, const RnnTape& tape,
                             kernels::RecurrentGradients& gradients) {
  const std::int64_t examples = tape.output.size(1);
  const GateLayout layout{tape.output.size(2), kernels::gate_count(tape.cell)};
  const StepOrder order(tape);
  const bool is_gru = tape.cell == RnnCell::gru;
  // GRU's hidden state also bypasses the gates, so the part through the gates needs its own memory.
  Tensor through =
      is_gru ? Tensor::empty({examples, layout.size}, tape.output.dtype(), tape.output.device()) : Tensor();
  dispatch_floating("recurrent_backward", tape.output.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = order.count - 1; i >= 0; --i) {
      const std::int64_t now = order.at(i);
      StepBackward<T> step{
          .layout = layout,
          .by_hidden = address<T>(written(gradients.by_hidden)),
          .through = i == order.count - 1 ? nullptr : all_of<T>(through),
          .by_output = step_of<T>(gradients.by_output, now),
          .by_cell = gradients.by_cell.defined() ? address<T>(written(gradients.by_cell)) : nullptr,
          .by_gates = step_into<T>(gradients.by_gates, now),
          .by_from_hidden = step_into<T>(gradients.by_from_hidden, now),
          .gates = step_of<T>(tape.gates, now),
          .output = step_of<T>(tape.output, now),
          .tanh_cell = step_of<T>(tape.tanh_cells, now),
          .candidate = step_of<T>(tape.candidates, now),
          .previous_hidden = i == 0 ? all_of<T>(tape.first_hidden) : step_of<T>(tape.output, order.before(i)),
          .previous_cell = i == 0 ? all_of<T>(tape.first_cell) : step_of<T>(tape.cells, order.before(i))};
      start(launcher, tape.cell, examples * layout.size, step);
      if (is_gru) multiply(through, gradients.by_from_hidden.select(0, now), tape.hidden_weight);
      else multiply(gradients.by_hidden, gradients.by_gates.select(0, now), tape.hidden_weight);
    }
    if (is_gru)
      launcher.each(examples * layout.size, AddTo<T>{address<T>(written(gradients.by_hidden)), all_of<T>(through)});
  });
}

}  // namespace troupe::cuda
