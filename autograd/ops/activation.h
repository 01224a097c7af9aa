// Activations of variables. Dtypes and errors are those of tensor/ops/activation.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/activation.h"

namespace troupe {

[[nodiscard]] Variable sigmoid(const Variable& x);
/// The gradient at 0 is 0.
[[nodiscard]] Variable relu(const Variable& x);
[[nodiscard]] Variable gelu(const Variable& x, Gelu form = Gelu::exact);
[[nodiscard]] Variable silu(const Variable& x);
[[nodiscard]] Variable softplus(const Variable& x, double beta = 1.0);
[[nodiscard]] Variable softplus(const Variable& x, double beta, double threshold);
[[nodiscard]] Variable log_sigmoid(const Variable& x);
[[nodiscard]] Variable leaky_relu(const Variable& x, double slope = 0.01);
[[nodiscard]] Variable elu(const Variable& x, double alpha = 1.0);
/// The gradient is 0 at the limits and beyond. A NaN passes the gradient on.
[[nodiscard]] Variable hardtanh(const Variable& x, double low = -1.0, double high = 1.0);
[[nodiscard]] Variable relu6(const Variable& x);
[[nodiscard]] Variable celu(const Variable& x, double alpha = 1.0);
[[nodiscard]] Variable selu(const Variable& x);
[[nodiscard]] Variable mish(const Variable& x);
[[nodiscard]] Variable softsign(const Variable& x);
[[nodiscard]] Variable tanhshrink(const Variable& x);
/// The gradient is 0 at -3 and 3 and beyond.
[[nodiscard]] Variable hardsigmoid(const Variable& x);
/// The gradient at -3 is -1/2, at 3 it is 3/2.
[[nodiscard]] Variable hardswish(const Variable& x);
/// The gradient is 0 at the limits and between them. A NaN passes the gradient on.
[[nodiscard]] Variable softshrink(const Variable& x, double lambda = 0.5);
[[nodiscard]] Variable hardshrink(const Variable& x, double lambda = 0.5);
/// The gradient is 0 at the limit and below.
[[nodiscard]] Variable threshold(const Variable& x, double limit, double value);
/// The gradients at 0 are those of negative elements.
[[nodiscard]] Variable prelu(const Variable& x, const Variable& weight);
[[nodiscard]] Variable glu(const Variable& x, int dim = -1);

}  // namespace troupe
