#include "tensor/ops/activation.h"

#include <fmt/format.h>

#include <limits>

#include "tensor/create.h"
#include "tensor/decompositions/rounding.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/trigonometry.h"

namespace troupe {
namespace {

using detail::binary_backward;
using detail::unary;
using kernels::BinaryOp;
using kernels::UnaryOp;

void require_beta(std::string_view op, double beta) {
  if (!(beta > 0.0)) throw ValueError(fmt::format("[{}] beta not above 0: {}", op, beta));
}

constexpr double kSoftplusThreshold = 20.0;

/// Returns whether the kernel computes softplus with these options. Above 20 softplus(x) rounds to x in f32 and shorter
/// floats, so any higher threshold gives the same result.
bool is_softplus_itself(DType dtype, double beta, double threshold) {
  return beta == 1.0 && (threshold == std::numeric_limits<double>::infinity() ||
                         (threshold >= kSoftplusThreshold && dtype != DType::f64));
}

void require_order(std::string_view op, double low, double high) {
  if (low > high) throw ValueError(fmt::format("[{}] low above high: {} > {}", op, low, high));
}

Tensor piecewise(std::string_view op, kernels::PiecewiseOp kind, const Tensor& x, double factor = 0.0) {
  x.require_defined(op);
  const DType dtype = promote_to_floating(x.dtype());
  Tensor out = Tensor::empty(x.shape(), compute_dtype(dtype), x.device());
  kernels_of(out).piecewise(kind, out, x.to(out.dtype()).contiguous(), factor);
  return out.to(dtype);
}

// Returns `weight` in the shape that broadcasts to x.
Tensor by_channel(const Tensor& x, const Tensor& weight) {
  detail::require_together("prelu", x, weight);
  const std::int64_t channels = x.dim() > 1 ? x.size(1) : 1;
  if (weight.dim() > 1 || (weight.numel() != 1 && weight.numel() != channels)) {
    throw ShapeError(
        fmt::format("[prelu] weight does not fit: {} for {}", to_string(weight.shape()), to_string(x.shape())));
  }
  Shape shape;
  for (int dim = 0; dim < x.dim(); ++dim) shape.push_back(dim == 1 ? weight.numel() : 1);
  return weight.reshape(shape);
}

// Calls `kernel(out, grad, x)` with contiguous tensors of the compute dtype and returns out.
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

Tensor piecewise_backward(std::string_view op, kernels::PiecewiseOp kind, const Tensor& grad, const Tensor& x,
                          double factor = 0.0) {
  return backward_by_input(op, grad, x, [=](Tensor& out, const Tensor& g, const Tensor& in) {
    kernels_of(out).piecewise_backward(kind, out, g, in, factor);
  });
}

}  // namespace

Tensor sigmoid(const Tensor& x) { return unary("sigmoid", UnaryOp::sigmoid, x); }
Tensor relu(const Tensor& x) { return unary("relu", UnaryOp::relu, x); }
Tensor gelu(const Tensor& x, Gelu form) {
  return unary("gelu", form == Gelu::exact ? UnaryOp::gelu : UnaryOp::gelu_tanh, x);
}
Tensor silu(const Tensor& x) { return unary("silu", UnaryOp::silu, x); }

Tensor softplus(const Tensor& x, double beta) { return softplus(x, beta, kSoftplusThreshold); }

Tensor softplus(const Tensor& x, double beta, double threshold) {
  require_beta("softplus", beta);
  x.require_defined("softplus");
  const Tensor real = x.to(promote_to_floating(x.dtype()));
  if (is_softplus_itself(real.dtype(), beta, threshold)) return unary("softplus", UnaryOp::softplus, real);
  const Tensor in = detail::wide(real);
  const Tensor scaled = mul(in, beta);
  const Tensor result = where(gt(scaled, threshold), in, div(unary("softplus", UnaryOp::softplus, scaled), beta));
  return detail::rounded(result, real.dtype());
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
  return binary_backward("gelu_backward", form == Gelu::exact ? BinaryOp::gelu_backward : BinaryOp::gelu_tanh_backward,
                         grad, x);
}
Tensor silu_backward(const Tensor& grad, const Tensor& x) {
  return binary_backward("silu_backward", BinaryOp::silu_backward, grad, x);
}

Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta) {
  return softplus_backward(grad, x, beta, kSoftplusThreshold);
}

Tensor softplus_backward(const Tensor& grad, const Tensor& x, double beta, double threshold) {
  require_beta("softplus_backward", beta);
  if (is_softplus_itself(x.dtype(), beta, threshold))
    return binary_backward("softplus_backward", BinaryOp::softplus_backward, grad, x);
  const Tensor scaled = mul(detail::wide(x), beta), wanted = detail::wide(grad);
  const Tensor result = where(gt(scaled, threshold), wanted,
                              binary_backward("softplus_backward", BinaryOp::softplus_backward, wanted, scaled));
  return detail::rounded(result, x.dtype());
}

Tensor leaky_relu(const Tensor& x, double slope) {
  return piecewise("leaky_relu", kernels::PiecewiseOp::leaky_relu, x, slope);
}

Tensor elu(const Tensor& x, double alpha) { return piecewise("elu", kernels::PiecewiseOp::elu, x, alpha); }

Tensor hardtanh(const Tensor& x, double low, double high) {
  require_order("hardtanh", low, high);
  x.require_defined("hardtanh");
  return clamp(x, low, high);
}

Tensor relu6(const Tensor& x) {
  x.require_defined("relu6");
  return clamp(x, 0.0, 6.0);
}

Tensor celu(const Tensor& x, double alpha) {
  if (alpha == 0.0) throw ValueError("[celu] alpha is 0");
  return piecewise("celu", kernels::PiecewiseOp::celu, x, alpha);
}

Tensor selu(const Tensor& x) { return piecewise("selu", kernels::PiecewiseOp::selu, x); }
Tensor mish(const Tensor& x) { return unary("mish", UnaryOp::mish, x); }
Tensor hardsigmoid(const Tensor& x) { return piecewise("hardsigmoid", kernels::PiecewiseOp::hardsigmoid, x); }
Tensor hardswish(const Tensor& x) { return piecewise("hardswish", kernels::PiecewiseOp::hardswish, x); }

Tensor softshrink(const Tensor& x, double lambda) {
  if (!(lambda >= 0.0)) throw ValueError(fmt::format("[softshrink] lambda below 0: {}", lambda));
  return piecewise("softshrink", kernels::PiecewiseOp::softshrink, x, lambda);
}

Tensor hardshrink(const Tensor& x, double lambda) {
  return piecewise("hardshrink", kernels::PiecewiseOp::hardshrink, x, lambda);
}

Tensor softsign(const Tensor& x) {
  x.require_defined("softsign");
  const Tensor real = x.to(promote_to_floating(x.dtype()));
  const Tensor in = detail::wide(real);
  return detail::rounded(div(in, add(abs(in), 1.0)), real.dtype());
}

Tensor tanhshrink(const Tensor& x) {
  x.require_defined("tanhshrink");
  const Tensor real = x.to(promote_to_floating(x.dtype()));
  const Tensor in = detail::wide(real);
  return detail::rounded(sub(in, tanh(in)), real.dtype());
}

Tensor threshold(const Tensor& x, double limit, double value) {
  x.require_defined("threshold");
  detail::require_value_of("threshold", limit, x.dtype());
  detail::require_value_of("threshold", value, x.dtype());
  return where(le(x, limit), full({}, value, x.dtype(), x.device()), x);
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  const Tensor below = mul(x, by_channel(x, weight));
  return where(gt(x, 0.0), x.to(below.dtype()), below);
}

Tensor glu(const Tensor& x, int dim) {
  x.require_defined("glu");
  const int d = normalize_dim("glu", dim, x.shape());
  if (x.dim() == 0 || x.size(d) % 2 != 0) {
    throw ShapeError(fmt::format("[glu] no halves: {} along {}", to_string(x.shape()), d));
  }
  const std::int64_t half = x.size(d) / 2;
  const Tensor in = detail::wide(x);
  return detail::rounded(mul(in.slice(d, 0, half), sigmoid(in.slice(d, half))), x.dtype());
}

Tensor leaky_relu_backward(const Tensor& grad, const Tensor& x, double slope) {
  return piecewise_backward("leaky_relu_backward", kernels::PiecewiseOp::leaky_relu, grad, x, slope);
}
Tensor elu_backward(const Tensor& grad, const Tensor& x, double alpha) {
  return piecewise_backward("elu_backward", kernels::PiecewiseOp::elu, grad, x, alpha);
}
Tensor celu_backward(const Tensor& grad, const Tensor& x, double alpha) {
  return piecewise_backward("celu_backward", kernels::PiecewiseOp::celu, grad, x, alpha);
}
Tensor selu_backward(const Tensor& grad, const Tensor& x) {
  return piecewise_backward("selu_backward", kernels::PiecewiseOp::selu, grad, x);
}
Tensor mish_backward(const Tensor& grad, const Tensor& x) {
  return binary_backward("mish_backward", BinaryOp::mish_backward, grad, x);
}
Tensor hardsigmoid_backward(const Tensor& grad, const Tensor& x) {
  return piecewise_backward("hardsigmoid_backward", kernels::PiecewiseOp::hardsigmoid, grad, x);
}
Tensor hardswish_backward(const Tensor& grad, const Tensor& x) {
  return piecewise_backward("hardswish_backward", kernels::PiecewiseOp::hardswish, grad, x);
}
Tensor softshrink_backward(const Tensor& grad, const Tensor& x, double lambda) {
  return piecewise_backward("softshrink_backward", kernels::PiecewiseOp::softshrink, grad, x, lambda);
}
Tensor hardshrink_backward(const Tensor& grad, const Tensor& x, double lambda) {
  return piecewise_backward("hardshrink_backward", kernels::PiecewiseOp::hardshrink, grad, x, lambda);
}

Tensor hardtanh_backward(const Tensor& grad, const Tensor& x, double low, double high) {
  require_order("hardtanh_backward", low, high);
  return backward_by_input("hardtanh_backward", grad, x, [low, high](Tensor& out, const Tensor& g, const Tensor& in) {
    kernels_of(out).between(out, g, in, low, high);
  });
}

}  // namespace troupe
