#include "tensor/kernels/class_loss.h"

#include "tensor/cuda/class_loss_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

std::optional<double> weight_of_targets(const RightClasses& right, std::int64_t classes) {
  return weight_of_targets_with(Launcher(right.target.device()), right, classes);
}

void nll(Tensor& out, const Tensor& x, const RightClasses& right) { nll_with(Launcher(out.device()), out, x, right); }

void nll_backward(Tensor& out, const Tensor& grad, const RightClasses& right) {
  nll_backward_with(Launcher(out.device()), out, grad, right);
}

void cross_entropy(Tensor& losses, Tensor& sums, const Tensor& x, const RightClasses& right) {
  cross_entropy_with(Launcher(losses.device()), losses, sums, x, right);
}

void cross_entropy_backward(Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& sums,
                            const RightClasses& right) {
  cross_entropy_backward_with(Launcher(out.device()), out, grad, x, sums, right);
}

}  // namespace

const kernels::ClassLossKernels class_loss_kernels{.weight_of_targets = weight_of_targets,
                                                   .nll = nll,
                                                   .nll_backward = nll_backward,
                                                   .cross_entropy = cross_entropy,
                                                   .cross_entropy_backward = cross_entropy_backward};

}  // namespace troupe::cuda
