// Convolution without a matrix of columns: for results of few products, where building the columns takes longer than
// using them.
#pragma once

#include "tensor/cpu/conv_sizes.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// Returns whether direct_convolve can compute results of `dtype`: stride 1, one group, rows of at least one vector.
[[nodiscard]] bool direct_takes(const ConvSizes& sizes, DType dtype);

/// As `convolve` of kernels/convolution.h; `bias` may be undefined. REQUIRES: direct_takes(sizes, y.dtype()). A result
/// is its bias and then its products, summed in the order of the filter's elements: it depends neither on the other
/// images nor on the number of threads.
void direct_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvSizes& sizes);

}  // namespace troupe::cpu
