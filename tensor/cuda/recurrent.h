// Recurrent layers on GPUs: what tensor/cpu/recurrent.h says holds here, of tensors on one GPU. Each step is a product by cuBLAS
// and one kernel for the gates.
//
// Not cuDNN's layers: what they keep for the gradient is opaque and their weights lie in an order of their own, while a tape
// keeps the gates, of which one product makes the gradient of a weight over all steps.
#pragma once

#include "tensor/cpu/recurrent.h"

namespace troupe::cuda {

void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias);
void recurrent_backward(const RnnTape& tape, cpu::RecurrentGradients& gradients);

}  // namespace troupe::cuda
