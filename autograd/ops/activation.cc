#include "autograd/ops/activation.h"

#include <utility>
#include <vector>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/create.h"

namespace troupe {

using detail::edges_of;
using detail::record;
using detail::rounded_once;
using detail::Saved;
using detail::wide;

Variable sigmoid(const Variable& x) {
  const Tensor result = sigmoid(x.value());
  return record("sigmoid", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return sigmoid_backward(g, y.get()); });
}

Variable relu(const Variable& x) {
  const Tensor result = relu(x.value());
  return record("relu", result, edges_of({&x}),
                [y = Saved(result)](const Tensor& g) { return relu_backward(g, y.get()); });
}

Variable gelu(const Variable& x, Gelu form) {
  const Tensor value = x.value();
  return record("gelu", gelu(value, form), edges_of({&x}),
                [x = Saved(value), form](const Tensor& g) { return gelu_backward(g, x.get(), form); });
}

Variable silu(const Variable& x) {
  const Tensor value = x.value();
  return record("silu", silu(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return silu_backward(g, x.get()); });
}

Variable softplus(const Variable& x, double beta) {
  const Tensor value = x.value();
  return record("softplus", softplus(value, beta), edges_of({&x}),
                [x = Saved(value), beta](const Tensor& g) { return softplus_backward(g, x.get(), beta); });
}

Variable softplus(const Variable& x, double beta, double threshold) {
  const Tensor value = x.value();
  return record(
      "softplus", softplus(value, beta, threshold), edges_of({&x}),
      [x = Saved(value), beta, threshold](const Tensor& g) { return softplus_backward(g, x.get(), beta, threshold); });
}

Variable log_sigmoid(const Variable& x) {
  const Tensor value = x.value();
  return record("log_sigmoid", log_sigmoid(value), edges_of({&x}),
                rounded_once([x = Saved(value)](const Tensor& g) { return mul(g, sigmoid(neg(wide(x)))); }));
}

Variable leaky_relu(const Variable& x, double slope) {
  const Tensor value = x.value();
  return record("leaky_relu", leaky_relu(value, slope), edges_of({&x}),
                [x = Saved(value), slope](const Tensor& g) { return leaky_relu_backward(g, x.get(), slope); });
}

Variable elu(const Variable& x, double alpha) {
  const Tensor value = x.value();
  return record("elu", elu(value, alpha), edges_of({&x}),
                [x = Saved(value), alpha](const Tensor& g) { return elu_backward(g, x.get(), alpha); });
}

Variable hardtanh(const Variable& x, double low, double high) {
  const Tensor value = x.value();
  return record("hardtanh", hardtanh(value, low, high), edges_of({&x}),
                [x = Saved(value), low, high](const Tensor& g) { return hardtanh_backward(g, x.get(), low, high); });
}

Variable relu6(const Variable& x) {
  const Tensor value = x.value();
  return record("relu6", relu6(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return hardtanh_backward(g, x.get(), 0.0, 6.0); });
}

Variable celu(const Variable& x, double alpha) {
  const Tensor value = x.value();
  return record("celu", celu(value, alpha), edges_of({&x}),
                [x = Saved(value), alpha](const Tensor& g) { return celu_backward(g, x.get(), alpha); });
}

Variable selu(const Variable& x) {
  const Tensor value = x.value();
  return record("selu", selu(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return selu_backward(g, x.get()); });
}

Variable mish(const Variable& x) {
  const Tensor value = x.value();
  return record("mish", mish(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mish_backward(g, x.get()); });
}

Variable softsign(const Variable& x) {
  const Tensor value = x.value();
  return record("softsign", softsign(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  const Tensor size = add(abs(wide(x)), 1.0);
                  return div(g, mul(size, size));
                }));
}

Variable tanhshrink(const Variable& x) {
  const Tensor value = x.value();
  return record("tanhshrink", tanhshrink(value), edges_of({&x}), rounded_once([x = Saved(value)](const Tensor& g) {
                  const Tensor y = tanh(wide(x));
                  return mul(g, mul(y, y));
                }));
}

Variable hardsigmoid(const Variable& x) {
  const Tensor value = x.value();
  return record("hardsigmoid", hardsigmoid(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return hardsigmoid_backward(g, x.get()); });
}

Variable hardswish(const Variable& x) {
  const Tensor value = x.value();
  return record("hardswish", hardswish(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return hardswish_backward(g, x.get()); });
}

Variable softshrink(const Variable& x, double lambda) {
  const Tensor value = x.value();
  return record("softshrink", softshrink(value, lambda), edges_of({&x}),
                [x = Saved(value), lambda](const Tensor& g) { return softshrink_backward(g, x.get(), lambda); });
}

Variable hardshrink(const Variable& x, double lambda) {
  const Tensor value = x.value();
  return record("hardshrink", hardshrink(value, lambda), edges_of({&x}),
                [x = Saved(value), lambda](const Tensor& g) { return hardshrink_backward(g, x.get(), lambda); });
}

Variable threshold(const Variable& x, double limit, double value) {
  const Tensor in = x.value();
  return record("threshold", threshold(in, limit, value), edges_of({&x}), [x = Saved(in), limit](const Tensor& g) {
    return where(le(x.get(), limit), zeros({}, g.dtype(), g.device()), g);
  });
}

Variable prelu(const Variable& x, const Variable& weight) {
  const auto [in, w] = detail::values_of(x, weight);
  return record("prelu", prelu(in, w), edges_of({&x, &weight}),
                rounded_once([in = Saved(in), w = Saved(w)](const Tensor& g, std::span<const Edge> to) {
                  Shape by_channel;
                  for (int dim = 0; dim < in.get().dim(); ++dim) by_channel.push_back(dim == 1 ? w.get().numel() : 1);
                  std::vector<Tensor> gradients(2);
                  if (to[0]) {
                    const Tensor below = mul(g, wide(w).reshape(by_channel));
                    gradients[0] = where(gt(in.get(), 0.0), g.to(below.dtype()), below).to(in.get().dtype());
                  }
                  if (to[1]) {
                    const Tensor all = sum_to(mul(g, minimum(wide(in), 0.0)), by_channel);
                    gradients[1] = all.reshape(w.get().shape()).to(w.get().dtype());
                  }
                  return gradients;
                }));
}

Variable glu(const Variable& x, int dim) {
  const Tensor in = x.value();
  Tensor value = glu(in, dim);
  const int d = normalize_dim("glu", dim, in.shape());
  return record("glu", std::move(value), edges_of({&x}), rounded_once([x = Saved(in), d](const Tensor& g) {
                  const Tensor both = wide(x);
                  const std::int64_t half = both.size(d) / 2;
                  const Tensor gate = sigmoid(both.slice(d, half));
                  return concat({mul(g, gate), sigmoid_backward(mul(g, both.slice(d, 0, half)), gate)}, d);
                }));
}

}  // namespace troupe
