// Convolution kernels. All tensors are contiguous, of one dtype (f32 or f64), not empty; shapes and options fit.
#pragma once

#include "tensor/ops/conv.h"

namespace troupe::cpu {

/// y (n, o, oh, ow) from x (n, c, h, w), weight (o, c / groups, kh, kw) and bias (o) or undefined.
void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options);
void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options);
void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options);
/// Both at once, which saves work.
void convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                       const Conv2dOptions& options);

}  // namespace troupe::cpu
