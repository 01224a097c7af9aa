#include "tensor/cuda/softmax.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/softmax_kernels.h"

namespace troupe::cuda {

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x) { softmax_with(Launcher(out.device()), kind, out, x); }

void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  softmax_backward_with(Launcher(out.device()), kind, out, grad, y);
}

}  // namespace troupe::cuda
