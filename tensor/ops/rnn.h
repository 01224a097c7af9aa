// One recurrent layer in one direction over all time steps, forward and backward. nn::Lstm, nn::Gru and nn::Rnn stack
// such layers. Rules as in ops.h; dtypes are floating, promoted over all arguments.
//
// Shapes: t steps, n examples, i inputs, h hidden units; x (t, n, i); initial state (n, h), undefined for zeros.
// Throws ShapeError
//   `[lstm] sizes differ: x (5, 2, 3), input weight (16, 4)` and the like,
//   `[lstm] no time steps: (0, 2, 3)`.
#pragma once

#include <cstdint>

#include "tensor/kernels/recurrent.h"
#include "tensor/tensor.h"

namespace troupe {

/// Weights and biases of a layer: g blocks of h rows each, in torch's order.
struct RnnWeights {
  Tensor input;          ///< (g * h, i)
  Tensor hidden;         ///< (g * h, h)
  Tensor input_bias{};   ///< (g * h) or undefined
  Tensor hidden_bias{};  ///< (g * h) or undefined
};

/// The result of one recurrent layer in one direction.
struct RnnResult {
  Tensor output;  ///< (t, n, h): the hidden state after each step
  Tensor hidden;  ///< (n, h): the hidden state after the last step
  Tensor cell;    ///< LSTM: (n, h)
  RnnTape tape;   ///< saved for rnn_backward()
};

/// Long short-term memory with blocks i, f, g, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
/// Source: Hochreiter and Schmidhuber, 1997; with the forget gate of Gers et al., 2000.
[[nodiscard]] RnnResult lstm(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                             const Tensor& cell = {}, TimeDirection direction = TimeDirection::forward);

/// Gated recurrent unit with blocks r, z, n: h' = (1 - z) tanh(n_x + r n_h) + z h, where n_x and n_h are the products
/// of x and h with block n, biases included. Source: Cho et al., 2014, with the reset after the product, as in torch.
[[nodiscard]] RnnResult gru(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                            TimeDirection direction = TimeDirection::forward);

enum class RnnNonlinearity : std::uint8_t { tanh, relu };

/// h' = tanh(sum of both products and biases), or relu of it.
[[nodiscard]] RnnResult rnn(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                            RnnNonlinearity nonlinearity = RnnNonlinearity::tanh,
                            TimeDirection direction = TimeDirection::forward);

/// Gradients with respect to the three results; any may be undefined.
struct RnnResultGradients {
  Tensor output;
  Tensor hidden;
  Tensor cell;
};

/// Gradients with respect to the initial state and to the products with both weights, in the dtype of the tape.
struct RnnStepGradients {
  Tensor hidden;       ///< (n, h)
  Tensor cell;         ///< LSTM: (n, h)
  Tensor from_input;   ///< (t, n, g * h)
  Tensor from_hidden;  ///< (t, n, g * h); the same tensor as from_input except for GRU
};

/// Backward pass through time, for a layer of any of the three kinds.
[[nodiscard]] RnnStepGradients rnn_backward(const RnnResultGradients& grad, const RnnTape& tape);

/// Gradients of the two weights, from the results of rnn_backward(). The gradients of the biases are sums over steps
/// and examples; the gradient of x is the product of `from_input` with the input weight.
[[nodiscard]] Tensor rnn_backward_input_weight(const Tensor& from_input, const Tensor& x);
[[nodiscard]] Tensor rnn_backward_hidden_weight(const Tensor& from_hidden, const RnnTape& tape);

}  // namespace troupe
