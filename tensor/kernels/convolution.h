// Convolution kernels. REQUIRES: all tensors are contiguous, of one dtype (f32 or f64) and not empty; shapes and
// options fit.
//
// GPUs use cuDNN, loaded at the first convolution. They also accept f16 and bf16: sums run in f32, and the result is
// rounded to 16 bits before the bias is added. f32 runs without TF32. Results do not change from run to run: only
// algorithms that cuDNN calls deterministic are used. Kernels of GPUs throw
//   DeviceError `[convolution] libcudnn.so.9: cannot open shared object file: No such file or directory`,
//     `[convolution] cuDNN was not found when Troupe was built`, `[convolution] cuda:0: CUDNN_STATUS_EXECUTION_FAILED`,
//     `[convolution] cuda:0: cuDNN has no deterministic algorithm for x (1, 3, 8, 8) and weight (4, 3, 3, 3)`,
//   ShapeError `[convolution] more than 2^31 - 1 elements in an image: (1, 65536, 256, 256)` and the like.
#pragma once

#include <cstdint>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// The geometry of a convolution, in elements.
struct Conv2dOptions {
  Size2d stride{1, 1};
  Size2d padding{0, 0};  ///< zeros added on each side; ops/conv.h replaces its kSame before a kernel runs
  Size2d dilation{1, 1};
  std::int64_t groups = 1;  ///< number of groups of channels; each group has filters of its own
  friend bool operator==(const Conv2dOptions&, const Conv2dOptions&) = default;
};

}  // namespace troupe

namespace troupe::kernels {

/// The kernels of a device for convolutions and their gradients.
struct ConvolutionKernels {
  /// Writes y (n, o, oh, ow). Shapes: x (n, c, h, w), weight (o, c / groups, kh, kw), bias (o) or undefined.
  void (*convolve)(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options);
  void (*convolve_backward_input)(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options);
  void (*convolve_backward_weight)(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options);

  /// Computes both gradients in one call, which saves work on the CPU.
  void (*convolve_backward)(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                            const Conv2dOptions& options);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::ConvolutionKernels convolution_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::ConvolutionKernels convolution_kernels;
}  // namespace troupe::cuda
