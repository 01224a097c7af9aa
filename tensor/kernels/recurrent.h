// Kernels of recurrent layers: all steps of one layer in one direction.
//
// On a GPU each step is one product by cuBLAS and one kernel for the gates. cuDNN's recurrent layers are not used:
// their saved state is opaque and their weights have a layout of their own. Our tape keeps the gates, so one product
// over all steps gives the gradient of a weight.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// The order of the time steps. A reverse layer starts at the last step and stores each result at its step.
enum class TimeDirection : std::uint8_t { forward, reverse };

enum class RnnCell : std::uint8_t { lstm, gru, tanh, relu };

/// The tensors that a layer saves for backward, in the dtype of the computation. Opaque to users.
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

/// Returns the number of gates of a cell, blocks of the hidden size in its weights.
[[nodiscard]] constexpr std::int64_t gate_count(RnnCell cell) noexcept {
  switch (cell) {
    case RnnCell::lstm: return 4;
    case RnnCell::gru: return 3;
    default: return 1;
  }
}

// REQUIRES: all tensors are contiguous and of one dtype, f32 or f64. Sizes: t steps, n examples, h hidden units, g
// gates, none 0. Tape: hidden_weight is (g * h, h); first_hidden, and for LSTM first_cell, is (n, h) or undefined for
// zeros.

/// Gradients of a layer. "by x" is the gradient of the loss with respect to x.
struct RecurrentGradients {
  Tensor by_output;       ///< in: (t, n, h) or undefined
  Tensor by_hidden;       ///< (n, h); in: by the last hidden state; out: by the first one
  Tensor by_cell;         ///< LSTM: the same of the cell state
  Tensor by_gates;        ///< out: (t, n, g * h), by the input's part of the sums
  Tensor by_from_hidden;  ///< GRU, out: (t, n, g * h), by the hidden state's part of the sums
};

/// The recurrent kernels of a device.
struct RecurrentKernels {
  /// Runs all steps. In: the tape's `gates` (t, n, g * h), the input's part of the sums. Out: `gates` (of plain cells
  /// the sums) and `output` (t, n, h); for LSTM also `cells` and `tanh_cells`, for GRU `candidates`, all (t, n, h).
  /// `bias` (g * h) is added to the sums, `candidate_bias` (h) to the hidden state's part of GRU's candidate; either
  /// may be undefined.
  void (*recurrent)(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias);

  /// Runs all steps in reverse order and writes the gradients marked "out". REQUIRES: recurrent() filled `tape`.
  void (*recurrent_backward)(const RnnTape& tape, RecurrentGradients& gradients);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::RecurrentKernels recurrent_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::RecurrentKernels recurrent_kernels;
}  // namespace troupe::cuda
