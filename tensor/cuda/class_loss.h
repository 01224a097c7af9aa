// Losses of classes on GPUs: what tensor/cpu/class_loss.h says holds here, of tensors on one GPU.
#pragma once

#include <optional>

#include "tensor/cpu/class_loss.h"

namespace troupe::cuda {

/// Waits for the GPU.
[[nodiscard]] std::optional<double> weight_of_targets(const cpu::RightClasses& right, std::int64_t classes);

void nll(Tensor& out, const Tensor& x, const cpu::RightClasses& right);
void nll_backward(Tensor& out, const Tensor& grad, const cpu::RightClasses& right);

void cross_entropy(Tensor& losses, Tensor& sums, const Tensor& x, const cpu::RightClasses& right);
void cross_entropy_backward(Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& sums, const cpu::RightClasses& right);

}  // namespace troupe::cuda
