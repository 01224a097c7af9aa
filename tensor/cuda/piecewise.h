// Activations in pieces on GPUs: what tensor/cpu/piecewise.h says holds here, of tensors on one GPU.
#pragma once

#include "tensor/cpu/piecewise.h"

namespace troupe::cuda {

void piecewise(cpu::PiecewiseOp op, Tensor& out, const Tensor& x, double factor);
void piecewise_backward(cpu::PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor);
void between(Tensor& out, const Tensor& g, const Tensor& x, double low, double high);

}  // namespace troupe::cuda
