// Where there is no cuDNN.
#include "tensor/cuda/convolution.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

[[noreturn]] void refuse() { throw DeviceError("[convolution] cuDNN was not found when Troupe was built"); }

}  // namespace

void convolve(Tensor& /*y*/, const Tensor& /*x*/, const Tensor& /*weight*/, const Tensor& /*bias*/, const Conv2dOptions& /*options*/) {
  refuse();
}
void convolve_backward_input(Tensor& /*dx*/, const Tensor& /*dy*/, const Tensor& /*weight*/, const Conv2dOptions& /*options*/) { refuse(); }
void convolve_backward_weight(Tensor& /*dw*/, const Tensor& /*dy*/, const Tensor& /*x*/, const Conv2dOptions& /*options*/) { refuse(); }

}  // namespace troupe::cuda
