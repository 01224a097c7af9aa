// Convolution as matrix products: for f64, and for f32 where that is faster than oneDNN.
#pragma once

#include "tensor/cpu/conv_sizes.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// As the kernels of kernels/convolution.h, for f32 and f64; `bias` may be undefined.
void gemm_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSizes& sizes);
void gemm_convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const ConvSizes& sizes);
void gemm_convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const ConvSizes& sizes);

}  // namespace troupe::cpu
