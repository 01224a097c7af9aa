// Kernels of recurrent layers: all steps of one layer in one direction.
//
// On a GPU each step is a product by cuBLAS and one kernel for the gates. cuDNN's layers are not used: what they keep
// for the gradient is opaque and their weights lie in an order of their own, while a tape keeps the gates, of which one
// product makes the gradient of a weight over all steps.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// Which way a layer goes through time. A reverse one begins with the last step, whose place its result keeps.
enum class TimeDirection : std::uint8_t { forward, reverse };

enum class RnnCell : std::uint8_t { lstm, gru, tanh, relu };

/// What a layer keeps for its gradient: opaque. In the dtype in which it was computed.
struct RnnTape {
  RnnCell cell = RnnCell::lstm;
  TimeDirection direction = TimeDirection::forward;
  Tensor hidden_weight;
  Tensor first_hidden;
  Tensor first_cell;
  Tensor gates;
  Tensor cells;
  Tensor tanh_cells;
  Tensor candidates;
  Tensor output;
};

}  // namespace troupe

namespace troupe::kernels {

/// How many blocks of hidden size the weights of a cell have.
[[nodiscard]] constexpr std::int64_t gate_count(RnnCell cell) noexcept {
  switch (cell) {
    case RnnCell::lstm: return 4;
    case RnnCell::gru: return 3;
    default: return 1;
  }
}

// All tensors are contiguous and of one dtype, f32 or f64. Sizes: t steps, n examples, h hidden, g gates, none of them
// 0. Of a tape: hidden_weight (g * h, h); first_hidden and, of LSTM, first_cell (n, h) or undefined for zeros.

/// Gradients of a layer.
struct RecurrentGradients {
  Tensor by_output;       ///< in: (t, n, h) or undefined
  Tensor by_hidden;       ///< (n, h), in: by the last hidden; out: by the first
  Tensor by_cell;         ///< LSTM: likewise
  Tensor by_gates;        ///< out: (t, n, g * h), by what the input gives to the sums
  Tensor by_from_hidden;  ///< GRU, out: (t, n, g * h), by what the hidden state gives to them
};

/// What a device implements for recurrent layers.
struct RecurrentKernels {
  /// Runs all steps. In: the tape's `gates` (t, n, g * h), what the input gives to the sums. Out: the gates (of plain
  /// cells the sums), `output` (t, n, h), of LSTM `cells` and `tanh_cells` likewise, of GRU `candidates`. `bias` (g *
  /// h) is added to the sums, `candidate_bias` (h) to the hidden side of GRU's candidate; either may be undefined.
  void (*recurrent)(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias);

  /// Runs all steps backwards, after recurrent(): fills what is called "out".
  void (*recurrent_backward)(const RnnTape& tape, RecurrentGradients& gradients);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::RecurrentKernels recurrent_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::RecurrentKernels recurrent_kernels;
}  // namespace troupe::cuda
