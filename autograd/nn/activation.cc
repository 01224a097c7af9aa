#include "autograd/nn/activation.h"

#include "autograd/ops.h"
#include "autograd/ops_nn.h"

namespace troupe::nn {

Variable Relu::forward(const Variable& x) { return relu(x); }
Variable Tanh::forward(const Variable& x) { return tanh(x); }
Variable Sigmoid::forward(const Variable& x) { return sigmoid(x); }
Variable LogSoftmax::forward(const Variable& x) { return log_softmax(x); }
Variable Flatten::forward(const Variable& x) { return flatten(x, 1); }

}  // namespace troupe::nn
