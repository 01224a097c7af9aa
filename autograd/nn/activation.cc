#include "autograd/nn/activation.h"

#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"

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
Variable Softmin::forward(const Variable& x) { return softmin(x, dim_); }
Variable LogSigmoid::forward(const Variable& x) { return log_sigmoid(x); }
Variable Selu::forward(const Variable& x) { return selu(x); }
Variable Celu::forward(const Variable& x) { return celu(x, alpha_); }
Variable Mish::forward(const Variable& x) { return mish(x); }
Variable Softsign::forward(const Variable& x) { return softsign(x); }
Variable Tanhshrink::forward(const Variable& x) { return tanhshrink(x); }
Variable Hardsigmoid::forward(const Variable& x) { return hardsigmoid(x); }
Variable Hardswish::forward(const Variable& x) { return hardswish(x); }
Variable Softshrink::forward(const Variable& x) { return softshrink(x, lambda_); }
Variable Hardshrink::forward(const Variable& x) { return hardshrink(x, lambda_); }
Variable Threshold::forward(const Variable& x) { return threshold(x, limit_, value_); }
Variable Glu::forward(const Variable& x) { return glu(x, dim_); }

Prelu::Prelu(std::int64_t channels, double start, DType dtype)
    : weight_(add_parameter("weight", full({channels}, start, dtype))) {}
Variable Prelu::forward(const Variable& x) { return prelu(x, weight_); }

}  // namespace troupe::nn
