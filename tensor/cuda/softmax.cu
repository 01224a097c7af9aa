#include "tensor/kernels/softmax.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/softmax_kernels.h"

namespace troupe::cuda {
namespace {

void softmax(SoftmaxKind kind, Tensor& out, const Tensor& x) { softmax_with(Launcher(out.device()), kind, out, x); }

void softmax_backward(SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  softmax_backward_with(Launcher(out.device()), kind, out, grad, y);
}

}  // namespace

const kernels::SoftmaxKernels softmax_kernels{.softmax = softmax, .softmax_backward = softmax_backward};

}  // namespace troupe::cuda
