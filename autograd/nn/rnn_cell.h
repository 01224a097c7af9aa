// One step of a recurrent layer. Parameters and names are those of torch.nn.LSTMCell, GRUCell and RNNCell.
#pragma once

#include <cstdint>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/ops/rnn.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Base of RnnCell, LstmCell and GruCell. Parameters: weight_ih (g * hidden, inputs), weight_hh (g * hidden, hidden),
/// bias_ih and bias_hh, all initially uniform in +-1 / sqrt(hidden). Shapes: x (n, inputs), states (n, hidden). An
/// undefined state stands for zeros. Errors as for lstm(), gru() and rnn(). forward() is thread-safe.
class RecurrentCell : public Module {
 protected:
  /// Throws ValueError `[LstmCell] sizes below 1: 3 -> 0`.
  RecurrentCell(const char* name, std::int64_t gates, std::int64_t inputs, std::int64_t hidden, Generator& generator,
                Bias bias, DType dtype);

  [[nodiscard]] const RnnParameters& parameters_of_step() const noexcept { return parameters_; }

 private:
  RnnParameters parameters_;
};

/// The state between two steps of an LSTM: (n, hidden) each.
struct LstmState {
  Variable hidden{};
  Variable cell{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(hidden, cell);
  }
};

/// Computes one step of an LSTM: x (n, inputs) and the state -> the next state. An undefined state stands for zeros.
class LstmCell final : public RecurrentCell {
 public:
  LstmCell(std::int64_t inputs, std::int64_t hidden, Generator& generator, Bias bias = Bias::yes,
           DType dtype = DType::f32)
      : RecurrentCell("LstmCell", 4, inputs, hidden, generator, bias, dtype) {}

  [[nodiscard]] LstmState forward(const Variable& x, const LstmState& state = {});
};

/// Computes one step of a GRU: x (n, inputs) and hidden (n, hidden) -> (n, hidden). Undefined `hidden` stands for
/// zeros.
class GruCell final : public RecurrentCell {
 public:
  GruCell(std::int64_t inputs, std::int64_t hidden, Generator& generator, Bias bias = Bias::yes,
          DType dtype = DType::f32)
      : RecurrentCell("GruCell", 3, inputs, hidden, generator, bias, dtype) {}

  [[nodiscard]] Variable forward(const Variable& x, const Variable& hidden = {});
};

/// Computes one step of a recurrent layer: x (n, inputs) and hidden (n, hidden) -> (n, hidden). Undefined `hidden`
/// stands for zeros.
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
