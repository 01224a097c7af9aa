// One step of a recurrent layer. Parameters and names are those of torch.nn.LSTMCell, GRUCell and RNNCell.
#pragma once

#include <cstdint>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/ops/rnn.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// What the three have in common: parameters weight_ih (g * hidden, inputs), weight_hh (g * hidden, hidden), bias_ih
/// and bias_hh, all uniform in +-1 / sqrt(hidden). Shapes: x (n, inputs), states (n, hidden), undefined for zeros.
/// Errors as of lstm(), gru() and rnn(). forward() may run on several threads at once.
class RecurrentCell : public Module {
 protected:
  /// Throws ValueError `[LstmCell] sizes below 1: 3 -> 0`.
  RecurrentCell(const char* name, std::int64_t gates, std::int64_t inputs, std::int64_t hidden, Generator& generator,
                Bias bias, DType dtype);

  [[nodiscard]] const RnnParameters& parameters_of_step() const noexcept { return parameters_; }

 private:
  RnnParameters parameters_;
};

/// What an LSTM hands from step to step: (n, hidden) each.
struct LstmState {
  Variable hidden{};
  Variable cell{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(hidden, cell);
  }
};

/// One step of an LSTM: x (n, inputs) and the state, zeros if undefined, -> the next state.
class LstmCell final : public RecurrentCell {
 public:
  LstmCell(std::int64_t inputs, std::int64_t hidden, Generator& generator, Bias bias = Bias::yes,
           DType dtype = DType::f32)
      : RecurrentCell("LstmCell", 4, inputs, hidden, generator, bias, dtype) {}

  [[nodiscard]] LstmState forward(const Variable& x, const LstmState& state = {});
};

/// One step of a GRU: x (n, inputs) and hidden (n, hidden), zeros if undefined, -> (n, hidden).
class GruCell final : public RecurrentCell {
 public:
  GruCell(std::int64_t inputs, std::int64_t hidden, Generator& generator, Bias bias = Bias::yes,
          DType dtype = DType::f32)
      : RecurrentCell("GruCell", 3, inputs, hidden, generator, bias, dtype) {}

  [[nodiscard]] Variable forward(const Variable& x, const Variable& hidden = {});
};

/// One step of a recurrent layer: x (n, inputs) and hidden (n, hidden), zeros if undefined, -> (n, hidden).
class RnnCell final : public RecurrentCell {
 public:
  RnnCell(std::int64_t inputs, std::int64_t hidden, Generator& generator, Bias bias = Bias::yes,
          DType dtype = DType::f32, RnnNonlinearity nonlinearity = RnnNonlinearity::tanh)
      : RecurrentCell("RnnCell", 1, inputs, hidden, generator, bias, dtype), nonlinearity_(nonlinearity) {}

  [[nodiscard]] Variable forward(const Variable& x, const Variable& hidden = {});

 private:
  RnnNonlinearity nonlinearity_;
};

}  // namespace troupe::nn
