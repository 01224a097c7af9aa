#include "tensor/ops_activation.h"

#include <fmt/format.h>

#include "tensor/checks.h"
#include "tensor/elementwise.h"
#include "tensor/kernels.h"
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

void require_order(std::string_view op, double low, double high) {
  if (low > high) throw ValueError(fmt::format("[{}] low above high: {} > {}", op, low, high));
}

Tensor piecewise(std::string_view op, cpu::PiecewiseOp kind, const Tensor& x, double factor) {
  x.require_defined(op);
  const DType dtype = promote_to_floating(x.dtype());
  Tensor out = Tensor::empty(x.shape(), compute_dtype(dtype), x.device());
  kernels::piecewise(kind, out, x.to(out.dtype()).contiguous(), factor);
  return out.to(dtype);
}

// Calls `kernel(out, grad, x)` with all three as kernels take them, and returns out.
template <class Kernel>
Tensor backward_by_input(std::string_view op, const Tensor& grad, const Tensor& x, const Kernel& kernel) {
  detail::require_together(op, grad, x);
  detail::require_same_shape(op, grad, x);
  detail::require_same_dtype(op, grad, x);
  if (!is_floating(grad.dtype())) detail::throw_not_floating(op, grad.dtype());
  Tensor out = Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device());
  kernel(out, grad.to(out.dtype()).contiguous(), x.to(out.dtype()).contiguous());
  return out.to(x.dtype());
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

Tensor log_sigmoid(const Tensor& x) {
  x.require_defined("log_sigmoid");
  return neg(unary("log_sigmoid", UnaryOp::softplus, neg(x.to(promote_to_floating(x.dtype())))));
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

Tensor leaky_relu(const Tensor& x, double slope) {
  return piecewise("leaky_relu", cpu::PiecewiseOp::leaky_relu, x, slope);
}

Tensor elu(const Tensor& x, double alpha) { return piecewise("elu", cpu::PiecewiseOp::elu, x, alpha); }

Tensor hardtanh(const Tensor& x, double low, double high) {
  require_order("hardtanh", low, high);
  x.require_defined("hardtanh");
  return clamp(x, low, high);
}

Tensor relu6(const Tensor& x) {
  x.require_defined("relu6");
  return clamp(x, 0.0, 6.0);
}

Tensor leaky_relu_backward(const Tensor& grad, const Tensor& x, double slope) {
  return backward_by_input("leaky_relu_backward", grad, x, [slope](Tensor& out, const Tensor& g, const Tensor& in) {
    kernels::piecewise_backward(cpu::PiecewiseOp::leaky_relu, out, g, in, slope);
  });
}

Tensor elu_backward(const Tensor& grad, const Tensor& x, double alpha) {
  return backward_by_input("elu_backward", grad, x, [alpha](Tensor& out, const Tensor& g, const Tensor& in) {
    kernels::piecewise_backward(cpu::PiecewiseOp::elu, out, g, in, alpha);
  });
}

Tensor hardtanh_backward(const Tensor& grad, const Tensor& x, double low, double high) {
  require_order("hardtanh_backward", low, high);
  return backward_by_input("hardtanh_backward", grad, x, [low, high](Tensor& out, const Tensor& g, const Tensor& in) {
    kernels::between(out, g, in, low, high);
  });
}

}  // namespace troupe
