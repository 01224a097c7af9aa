#include "tensor/ops_activation.h"

#include <fmt/format.h>

#include "tensor/elementwise.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using cpu::BinaryOp;
using cpu::UnaryOp;
using detail::binary_backward;
using detail::unary;

void require_beta(std::string_view op, double beta) {
  if (!(beta > 0.0)) throw ValueError(fmt::format("[{}] beta not above 0: {}", op, beta));
}

}  // namespace

Tensor sigmoid(const Tensor& x) { return unary("sigmoid", UnaryOp::sigmoid, x); }
Tensor relu(const Tensor& x) { return unary("relu", UnaryOp::relu, x); }
Tensor gelu(const Tensor& x, Gelu form) { return unary("gelu", form == Gelu::exact ? UnaryOp::gelu : UnaryOp::gelu_tanh, x); }
Tensor silu(const Tensor& x) { return unary("silu", UnaryOp::silu, x); }

Tensor softplus(const Tensor& x, double beta) {
  require_beta("softplus", beta);
  if (beta == 1.0) return unary("softplus", UnaryOp::softplus, x);
  return div(unary("softplus", UnaryOp::softplus, mul(x.to(promote_to_floating(x.dtype())), beta)), beta);
}

Tensor relu_backward(const Tensor& grad, const Tensor& output) {
  return binary_backward("relu_backward", BinaryOp::relu_backward, grad, output);
}
Tensor tanh_backward(const Tensor& grad, const Tensor& output) {
  return binary_backward("tanh_backward", BinaryOp::tanh_backward, grad, output);
}
Tensor sigmoid_backward(const Tensor& grad, const Tensor& output) {
  return binary_backward("sigmoid_backward", BinaryOp::sigmoid_backward, grad, output);
}
Tensor gelu_backward(const Tensor& grad, const Tensor& x, Gelu form) {
  return binary_backward("gelu_backward", form == Gelu::exact ? BinaryOp::gelu_backward : BinaryOp::gelu_tanh_backward, grad, x);
}
Tensor silu_backward(const Tensor& grad, const Tensor& x) { return binary_backward("silu_backward", BinaryOp::silu_backward, grad, x); }

Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta) {
  require_beta("softplus_backward", beta);
  return binary_backward("softplus_backward", BinaryOp::softplus_backward, grad, beta == 1.0 ? x : mul(x, beta));
}

}  // namespace troupe
