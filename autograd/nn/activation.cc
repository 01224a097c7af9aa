#include "autograd/nn/activation.h"

#include "autograd/ops.h"
#include "autograd/ops_nn.h"

namespace troupe::nn {

Variable Relu::forward(const Variable& x) { return relu(x); }
Variable Relu6::forward(const Variable& x) { return relu6(x); }
Variable LeakyRelu::forward(const Variable& x) { return leaky_relu(x, slope_); }
Variable Elu::forward(const Variable& x) { return elu(x, alpha_); }
Variable Gelu::forward(const Variable& x) { return gelu(x, form_); }
Variable Silu::forward(const Variable& x) { return silu(x); }
Variable Softplus::forward(const Variable& x) { return softplus(x, beta_); }
Variable Hardtanh::forward(const Variable& x) { return hardtanh(x, low_, high_); }
Variable Tanh::forward(const Variable& x) { return tanh(x); }
Variable Sigmoid::forward(const Variable& x) { return sigmoid(x); }
Variable Softmax::forward(const Variable& x) { return softmax(x, dim_); }
Variable LogSoftmax::forward(const Variable& x) { return log_softmax(x, dim_); }
Variable Flatten::forward(const Variable& x) { return flatten(x, 1); }

}  // namespace troupe::nn
