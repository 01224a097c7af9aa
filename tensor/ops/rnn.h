// Recurrent layers: one layer in one direction over all time steps, with the pieces of its gradient. Rules as in ops.h;
// dtypes are floating, promoted over all arguments. What nn::Lstm, nn::Gru and nn::Rnn stack.
//
// Shapes: t steps, n examples, i inputs, h hidden numbers; x (t, n, i), the state before the first step (n, h),
// undefined for zeros. Throws ShapeError
//   `[lstm] sizes differ: x (5, 2, 3), input weight (16, 4)` and the like,
//   `[lstm] no time steps: (0, 2, 3)`.
#pragma once

#include <cstdint>

#include "tensor/kernels/recurrent.h"
#include "tensor/tensor.h"

namespace troupe {

/// What a layer multiplies with, g blocks of h rows each, in torch's order.
struct RnnWeights {
  Tensor input;          ///< (g * h, i)
  Tensor hidden;         ///< (g * h, h)
  Tensor input_bias{};   ///< (g * h) or undefined
  Tensor hidden_bias{};  ///< (g * h) or undefined
};

/// What one recurrent layer gives in one direction, with what its gradient needs.
struct RnnResult {
  Tensor output;  ///< (t, n, h): the hidden state after each step
  Tensor hidden;  ///< (n, h): after the last step
  Tensor cell;    ///< LSTM: (n, h)
  RnnTape tape;
};

/// Long short-term memory with blocks i, f, g, o: c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c').
/// Source: Hochreiter and Schmidhuber, 1997; with the forget gate of Gers et al., 2000.
[[nodiscard]] RnnResult lstm(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                             const Tensor& cell = {}, TimeDirection direction = TimeDirection::forward);

/// Gated recurrent unit with blocks r, z, n: h' = (1 - z) tanh(n_x + r n_h) + z h, where n_x is what x gives to n and
/// n_h what h gives, biases included. Source: Cho et al., 2014, with the reset after the product, as in torch.
[[nodiscard]] RnnResult gru(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                            TimeDirection direction = TimeDirection::forward);

enum class RnnNonlinearity : std::uint8_t { tanh, relu };

/// h' = tanh(sum of both products and biases), or relu of it.
[[nodiscard]] RnnResult rnn(const Tensor& x, const RnnWeights& weights, const Tensor& hidden = {},
                            RnnNonlinearity nonlinearity = RnnNonlinearity::tanh,
                            TimeDirection direction = TimeDirection::forward);

/// Gradients by the three results, any of which may be undefined.
struct RnnResultGradients {
  Tensor output;
  Tensor hidden;
  Tensor cell;
};

/// Gradients by the state before the first step, and by what the products gave; in the dtype of the tape.
struct RnnStepGradients {
  Tensor hidden;       ///< (n, h)
  Tensor cell;         ///< LSTM: (n, h)
  Tensor from_input;   ///< (t, n, g * h)
  Tensor from_hidden;  ///< (t, n, g * h); the same tensor but for GRU
};

/// Runs a layer of any of the three kinds backwards through time.
[[nodiscard]] RnnStepGradients rnn_backward(const RnnResultGradients& grad, const RnnTape& tape);

/// Gradients by the two weights, from those of rnn_backward(). Those by the biases are sums over steps and examples,
/// that by x is the product with the input weight.
[[nodiscard]] Tensor rnn_backward_input_weight(const Tensor& from_input, const Tensor& x);
[[nodiscard]] Tensor rnn_backward_hidden_weight(const Tensor& from_hidden, const RnnTape& tape);

}  // namespace troupe
