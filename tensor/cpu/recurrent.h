// Kernels of recurrent layers: all steps of one layer in one direction.
#pragma once

#include <cstdint>

#include "tensor/ops/rnn.h"

namespace troupe::cpu {

/// How many blocks of hidden size the weights of a cell have.
[[nodiscard]] std::int64_t gate_count(RnnCell cell) noexcept;

// All tensors are contiguous and of one dtype, f32 or f64. Sizes: t steps, n examples, h hidden, g gates, none of them
// 0. Of a tape: hidden_weight (g * h, h); first_hidden and, of LSTM, first_cell (n, h) or undefined for zeros.

/// Runs all steps. In: the tape's `gates` (t, n, g * h), what the input gives to the sums. Out: the gates (of plain
/// cells the sums), `output` (t, n, h), of LSTM `cells` and `tanh_cells` likewise, of GRU `candidates`. `bias` (g * h)
/// is added to the sums, `candidate_bias` (h) to the hidden side of GRU's candidate; either may be undefined.
void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias);

/// Gradients of a layer.
struct RecurrentGradients {
  Tensor by_output;       ///< in: (t, n, h) or undefined
  Tensor by_hidden;       ///< (n, h), in: by the last hidden; out: by the first
  Tensor by_cell;         ///< LSTM: likewise
  Tensor by_gates;        ///< out: (t, n, g * h), by what the input gives to the sums
  Tensor by_from_hidden;  ///< GRU, out: (t, n, g * h), by what the hidden state gives to them
};

/// Runs all steps backwards, after recurrent(): fills what is called "out".
void recurrent_backward(const RnnTape& tape, RecurrentGradients& gradients);

}  // namespace troupe::cpu
