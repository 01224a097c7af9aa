// Losses of pairs on GPUs: what tensor/cpu/pair_loss.h says holds here, of tensors on one GPU.
#pragma once

#include "tensor/cpu/pair_loss.h"

namespace troupe::cuda {

void pair_loss(Tensor& out, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss);
void pair_loss_sum(Tensor& out, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss, double divisor);
void pair_loss_backward(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss);

/// Waits for the GPU.
[[nodiscard]] bool all_probabilities(const Tensor& x);

}  // namespace troupe::cuda
