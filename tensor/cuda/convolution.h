// Convolutions of GPUs, by cuDNN, which is loaded when the first is asked for.
#pragma once

#include "tensor/ops/conv.h"

namespace troupe::cuda {

// What tensor/cpu/convolution.h says holds here, of tensors on one GPU; f16 and bf16 are taken as they are, too, with sums in
// f32 and a result that is rounded to 16 bits before the bias is added. f32 runs without TF32. Results do not change from run
// to run: only algorithms that cuDNN calls deterministic are used.
//
// Throws DeviceError `[convolution] libcudnn.so.9: cannot open shared object file: No such file or directory`,
// `[convolution] cuDNN was not found when Troupe was built`, `[convolution] cuda:0: CUDNN_STATUS_EXECUTION_FAILED` and
// `[convolution] cuda:0: cuDNN has no deterministic algorithm for x (1, 3, 8, 8) and weight (4, 3, 3, 3)`, ShapeError
// `[convolution] more than 2^31 - 1 elements in an image: (1, 65536, 256, 256)` and the like.

void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options);
void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options);
void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options);

}  // namespace troupe::cuda
