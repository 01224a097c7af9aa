// Activation functions and their gradients with respect to the input; rules as in ops.h. Integers become f32.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor sigmoid(const Tensor& x);
/// max(x, 0); NaN stays NaN, integers stay integers.
[[nodiscard]] Tensor relu(const Tensor& x);

/// How gelu computes the normal distribution function: exactly, or by the tanh approximation that some models use.
enum class Gelu : std::uint8_t { exact, tanh };
/// x times the probability that a normal number is below x.
/// Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016.
[[nodiscard]] Tensor gelu(const Tensor& x, Gelu form = Gelu::exact);
/// x sigmoid(x), which is also called swish.
[[nodiscard]] Tensor silu(const Tensor& x);
/// log(1 + exp(beta x)) / beta, without overflow; x where beta x is above `threshold`, by default 20.
/// Throws ValueError `[softplus] beta not above 0: -1`.
[[nodiscard]] Tensor softplus(const Tensor& x, double beta = 1.0);
[[nodiscard]] Tensor softplus(const Tensor& x, double beta, double threshold);
/// log(sigmoid(x)), without overflow.
[[nodiscard]] Tensor log_sigmoid(const Tensor& x);
/// x where x > 0, else slope * x. Source: Maas, Hannun and Ng, "Rectifier nonlinearities improve neural network
/// acoustic models", 2013.
[[nodiscard]] Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// x where x > 0, else alpha * (exp(x) - 1). Source: Clevert, Unterthiner and Hochreiter, "Fast and accurate deep
/// network learning by exponential linear units", 2015.
[[nodiscard]] Tensor elu(const Tensor& x, double alpha = 1.0);
/// x where x > 0, else alpha * (exp(x / alpha) - 1). Source: Barron, "Continuously differentiable exponential linear
/// units", 2017. Throws ValueError `[celu] alpha is 0`.
[[nodiscard]] Tensor celu(const Tensor& x, double alpha = 1.0);
/// 1.0507 elu(x, 1.6733), which preserves mean 0 and variance 1. Source: Klambauer et al., "Self-normalizing neural
/// networks", 2017.
[[nodiscard]] Tensor selu(const Tensor& x);
/// x tanh(softplus(x)). Source: Misra, "Mish: a self regularized non-monotonic activation function", 2019.
[[nodiscard]] Tensor mish(const Tensor& x);
/// x / (1 + |x|)
[[nodiscard]] Tensor softsign(const Tensor& x);
/// x - tanh(x)
[[nodiscard]] Tensor tanhshrink(const Tensor& x);
/// hardsigmoid(x) = relu6(x + 3) / 6, hardswish(x) = x hardsigmoid(x). Source: Howard et al., "Searching for
/// MobileNetV3", 2019.
[[nodiscard]] Tensor hardsigmoid(const Tensor& x);
[[nodiscard]] Tensor hardswish(const Tensor& x);
/// x - lambda where x > lambda, x + lambda where x < -lambda, 0 between.
/// Throws ValueError `[softshrink] lambda below 0: -1`.
[[nodiscard]] Tensor softshrink(const Tensor& x, double lambda = 0.5);
/// 0 where |x| <= lambda, else x.
[[nodiscard]] Tensor hardshrink(const Tensor& x, double lambda = 0.5);
/// x where x > limit, else `value`. Keeps the dtype and NaN. Throws DTypeError `[threshold] not a value of i64: 1.5`.
[[nodiscard]] Tensor threshold(const Tensor& x, double limit, double value);
/// x where x > 0, else weight * x. `weight` has one element, or one per channel (dimension 1 of x, which then has 2 or
/// more dimensions). Source: He et al., "Delving deep into rectifiers", 2015.
/// Throws ShapeError `[prelu] weight does not fit: (3) for (2, 4)`.
[[nodiscard]] Tensor prelu(const Tensor& x, const Tensor& weight);
/// The first half of x along `dim` times the sigmoid of the second. Source: Dauphin et al., "Language modeling with
/// gated convolutional networks", 2016. Throws ShapeError `[glu] no halves: (2, 3) along 1`.
[[nodiscard]] Tensor glu(const Tensor& x, int dim = -1);
/// x limited to [low, high], as by clamp: integers stay integers unless a limit is a fraction, which makes them f32.
/// Throws ValueError `[hardtanh] low above high: 2 > 1`.
[[nodiscard]] Tensor hardtanh(const Tensor& x, double low = -1.0, double high = 1.0);
/// x limited to [0, 6].
[[nodiscard]] Tensor relu6(const Tensor& x);

// Gradients with respect to the input. `grad`, the gradient with respect to the output, and `output` have equal shapes.

/// A NaN passes the gradient on.
[[nodiscard]] Tensor relu_backward(const Tensor& grad, const Tensor& output);
[[nodiscard]] Tensor tanh_backward(const Tensor& grad, const Tensor& output);
[[nodiscard]] Tensor sigmoid_backward(const Tensor& grad, const Tensor& output);

// The same for functions whose gradient needs the input instead of the output.

[[nodiscard]] Tensor gelu_backward(const Tensor& grad, const Tensor& x, Gelu form = Gelu::exact);
[[nodiscard]] Tensor silu_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta = 1.0);
[[nodiscard]] Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta, double threshold);
[[nodiscard]] Tensor leaky_relu_backward(const Tensor& grad, const Tensor& x, double slope = 0.01);
[[nodiscard]] Tensor elu_backward(const Tensor& grad, const Tensor& x, double alpha = 1.0);
[[nodiscard]] Tensor celu_backward(const Tensor& grad, const Tensor& x, double alpha = 1.0);
[[nodiscard]] Tensor selu_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor mish_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor hardswish_backward(const Tensor& grad, const Tensor& x);
[[nodiscard]] Tensor softshrink_backward(const Tensor& grad, const Tensor& x, double lambda = 0.5);
[[nodiscard]] Tensor hardshrink_backward(const Tensor& grad, const Tensor& x, double lambda = 0.5);
/// 0 at and beyond the limits.
[[nodiscard]] Tensor hardtanh_backward(const Tensor& grad, const Tensor& x, double low = -1.0, double high = 1.0);

}  // namespace troupe
