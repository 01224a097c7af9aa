#include "tensor/kernels/piecewise.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/piecewise_kernels.h"

namespace troupe::cuda {
namespace {

void piecewise(PiecewiseOp op, Tensor& out, const Tensor& x, double factor) {
  piecewise_with(Launcher(out.device()), op, out, x, factor);
}

void piecewise_backward(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor) {
  piecewise_backward_with(Launcher(out.device()), op, out, g, x, factor);
}

void between(Tensor& out, const Tensor& g, const Tensor& x, double low, double high) {
  between_with(Launcher(out.device()), out, g, x, low, high);
}

}  // namespace

const kernels::PiecewiseKernels piecewise_kernels{
    .piecewise = piecewise, .piecewise_backward = piecewise_backward, .between = between};

}  // namespace troupe::cuda
