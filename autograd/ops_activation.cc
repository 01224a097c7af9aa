#include "autograd/ops.h"
#include "autograd/record.h"

namespace troupe {

using detail::edges_of;
using detail::record;
using detail::Saved;

Variable sigmoid(const Variable& x) {
  const Tensor result = sigmoid(x.value());
  return record("sigmoid", result, edges_of({&x}), [y = Saved(result)](const Tensor& g) { return sigmoid_backward(g, y.get()); });
}

Variable relu(const Variable& x) {
  const Tensor result = relu(x.value());
  return record("relu", result, edges_of({&x}), [y = Saved(result)](const Tensor& g) { return relu_backward(g, y.get()); });
}

Variable gelu(const Variable& x, Gelu form) {
  const Tensor value = x.value();
  return record("gelu", gelu(value, form), edges_of({&x}),
                [x = Saved(value), form](const Tensor& g) { return gelu_backward(g, x.get(), form); });
}

Variable silu(const Variable& x) {
  const Tensor value = x.value();
  return record("silu", silu(value), edges_of({&x}), [x = Saved(value)](const Tensor& g) { return silu_backward(g, x.get()); });
}

Variable softplus(const Variable& x, double beta) {
  const Tensor value = x.value();
  return record("softplus", softplus(value, beta), edges_of({&x}),
                [x = Saved(value), beta](const Tensor& g) { return softplus_backward(g, x.get(), beta); });
}

Variable log_sigmoid(const Variable& x) {
  const Tensor value = x.value();
  return record("log_sigmoid", log_sigmoid(value), edges_of({&x}),
                [x = Saved(value)](const Tensor& g) { return mul(g, sigmoid(neg(x.get()))); });
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

}  // namespace troupe
