// Built with CUDA but without cuDNN: convolutions of GPUs throw.
#include "tensor/error.h"
#include "tensor/kernels/convolution.h"

namespace troupe::cuda {
namespace {

template <class... Arguments>
[[noreturn]] void refuse(Arguments... /*unused*/) {
  throw DeviceError("[convolution] cuDNN was not found when Troupe was built");
}

}  // namespace

const kernels::ConvolutionKernels convolution_kernels{.convolve = refuse,
                                                      .convolve_backward_input = refuse,
                                                      .convolve_backward_weight = refuse,
                                                      .convolve_backward = refuse};

}  // namespace troupe::cuda
