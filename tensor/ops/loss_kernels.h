// The kernels of losses: those of the device where the tensors are, see kernels.h.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/cpu/class_loss.h"
#include "tensor/cpu/pair_loss.h"
#include "tensor/cuda/class_loss.h"
#include "tensor/cuda/pair_loss.h"
#include "tensor/kernels.h"

namespace troupe::kernels {

[[nodiscard]] inline std::optional<double> weight_of_targets(const cpu::RightClasses& right, std::int64_t classes) {
  return on_gpu(right.target) ? cuda::weight_of_targets(right, classes) : cpu::weight_of_targets(right, classes);
}

inline void nll(Tensor& out, const Tensor& x, const cpu::RightClasses& right) {
  on_gpu(out) ? cuda::nll(out, x, right) : cpu::nll(out, x, right);
}

inline void nll_backward(Tensor& out, const Tensor& grad, const cpu::RightClasses& right) {
  on_gpu(out) ? cuda::nll_backward(out, grad, right) : cpu::nll_backward(out, grad, right);
}

inline void cross_entropy(Tensor& losses, Tensor& sums, const Tensor& x, const cpu::RightClasses& right) {
  on_gpu(x) ? cuda::cross_entropy(losses, sums, x, right) : cpu::cross_entropy(losses, sums, x, right);
}

inline void cross_entropy_backward(Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& sums, const cpu::RightClasses& right) {
  on_gpu(x) ? cuda::cross_entropy_backward(out, grad, x, sums, right) : cpu::cross_entropy_backward(out, grad, x, sums, right);
}

inline void pair_loss(Tensor& out, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss) {
  on_gpu(out) ? cuda::pair_loss(out, x, y, loss) : cpu::pair_loss(out, x, y, loss);
}

inline void pair_loss_sum(Tensor& out, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss, double divisor) {
  on_gpu(out) ? cuda::pair_loss_sum(out, x, y, loss, divisor) : cpu::pair_loss_sum(out, x, y, loss, divisor);
}

inline void pair_loss_backward(Tensor& by_x, Tensor& by_y, const Tensor& grad, const Tensor& x, const Tensor& y, const cpu::PairLoss& loss) {
  on_gpu(x) ? cuda::pair_loss_backward(by_x, by_y, grad, x, y, loss) : cpu::pair_loss_backward(by_x, by_y, grad, x, y, loss);
}

[[nodiscard]] inline bool all_probabilities(const Tensor& x) {
  return on_gpu(x) ? cuda::all_probabilities(x) : cpu::all_probabilities(x);
}

}  // namespace troupe::kernels
