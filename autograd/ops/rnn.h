// Recurrent layers on variables: one layer in one direction over all time steps is one vertex of the graph. Shapes,
// dtypes and errors are those of tensor/ops/rnn.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/rnn.h"

namespace troupe {

/// RnnWeights as variables; biases may be undefined.
struct RnnParameters {
  Variable input;
  Variable hidden;
  Variable input_bias{};
  Variable hidden_bias{};
};

/// The result of one recurrent layer in one direction.
struct RnnOutputs {
  Variable output;  ///< (t, n, h): the hidden state after each step
  Variable hidden;  ///< (n, h): after the last step
  Variable cell;    ///< (n, h): after the last step; LSTM only

  template <class Archive>
  void serialize(Archive& ar) {
    ar(output, hidden, cell);
  }
};

[[nodiscard]] RnnOutputs lstm(const Variable& x, const RnnParameters& parameters, const Variable& hidden = {},
                              const Variable& cell = {}, TimeDirection direction = TimeDirection::forward);
[[nodiscard]] RnnOutputs gru(const Variable& x, const RnnParameters& parameters, const Variable& hidden = {},
                             TimeDirection direction = TimeDirection::forward);
[[nodiscard]] RnnOutputs rnn(const Variable& x, const RnnParameters& parameters, const Variable& hidden = {},
                             RnnNonlinearity nonlinearity = RnnNonlinearity::tanh,
                             TimeDirection direction = TimeDirection::forward);

}  // namespace troupe
