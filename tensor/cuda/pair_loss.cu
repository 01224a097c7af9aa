#include "tensor/kernels/pair_loss.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/pair_loss_kernels.h"

namespace troupe::cuda {
namespace {

void pair_loss(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss) {
  pair_loss_with(Launcher(out.device()), out, x, y, loss);
}

void pair_loss_sum(Tensor& out, const Tensor& x, const Tensor& y, const PairLoss& loss, double divisor) {
  pair_loss_sum_with(Launcher(out.device()), out, x, y, loss, divisor);
}

void pair_loss_backward(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y,
                        const PairLoss& loss) {
  pair_loss_backward_with(Launcher(x.device()), by_x, by_y, grad, x, y, loss);
}

bool all_probabilities(const Tensor& x) { return all_probabilities_with(Launcher(x.device()), x); }

}  // namespace

const kernels::PairLossKernels pair_loss_kernels{.pair_loss = pair_loss,
                                                 .pair_loss_sum = pair_loss_sum,
                                                 .pair_loss_backward = pair_loss_backward,
                                                 .all_probabilities = all_probabilities};

}  // namespace troupe::cuda
