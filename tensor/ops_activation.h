// Activation functions, and their gradients by the input; rules as in ops.h. Integers become f32.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor sigmoid(const Tensor& x);
/// max(x, 0); NaN stays NaN, integers stay integers.
[[nodiscard]] Tensor relu(const Tensor& x);

/// How gelu takes the distribution of a normal number: as it is, or approximated by a tanh, as some models were trained.
enum class Gelu : std::uint8_t { exact, tanh };
/// x times the probability that a normal number is below x.
/// Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
[[nodiscard]] Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);
/// x sigmoid(x), which is also called swish.
[[nodiscard]] Tensor silu(const Tensor& x);
/// log(1 + exp(beta x)) / beta, without overflow. Throws ValueError `[softplus] beta not above 0: -1`.
[[nodiscard]] Tensor softplus(const Tensor& x, double beta = 1.0);
/// log(sigmoid(x)), without overflow.
[[nodiscard]] Tensor log_sigmoid(const Tensor& x);
/// x above 0, else slope * x. Source: Maas, Hannun and Ng, "Rectifier nonlinearities improve neural network acoustic
/// models", 2013.
[[nodiscard]] Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x above 0, else alpha * (exp(x) - 1). Source: Clevert, Unterthiner and Hochreiter, "Fast and accurate deep network
/// learning by exponential linear units", 2015.
[[nodiscard]] Tensor elu(const Tensor& x, double alpha = 1.0);
/// x limited to [low, high], as by clamp; integers stay integers. Throws ValueError `[hardtanh] low above high: 2 > 1`.
[[nodiscard]] Tensor hardtanh(const Tensor& x, double low = -1.0, double high = 1.0);
/// x limited to [0, 6].
[[nodiscard]] Tensor relu6(const Tensor& x);

// Gradients from the gradient by the output and, same shapes, the output ...

[[nodiscard]] Tensor relu_backward(const Tensor& grad, const Tensor& output);
[[nodiscard]] Tensor tanh_backward(const Tensor& grad, const Tensor& output);
[[nodiscard]] Tensor sigmoid_backward(const Tensor& grad, const Tensor& output);

// ... or the input.

[[nodiscard]] Tensor gelu_backward(const Tensor& grad, const Tensor& x, Gelu form = Gelu::exact);
[[nodiscard]] Tensor silu_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta = 1.0);
[[nodiscard]] Tensor leaky_relu_backward(const Tensor& grad, const Tensor& x, double slope = 0.01);
[[nodiscard]] Tensor elu_backward(const Tensor& grad, const Tensor& x, double alpha = 1.0);
/// 0 at and beyond the limits.
[[nodiscard]] Tensor hardtanh_backward(const Tensor& grad, const Tensor& x, double low = -1.0, double high = 1.0);

}  // namespace troupe
