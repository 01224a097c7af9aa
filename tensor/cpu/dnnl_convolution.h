// Convolution by oneDNN, for f32.
#pragma once

#include "tensor/kernels/convolution.h"

namespace troupe::cpu {

/// As the kernels of kernels/convolution.h.
void dnnl_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options);
void dnnl_convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options);
void dnnl_convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options);
void dnnl_convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                            const Conv2dOptions& options);

}  // namespace troupe::cpu
