#include "tensor/cpu/convolution.h"

#include "tensor/cpu/dnnl_convolution.h"
#include "tensor/cpu/gemm_convolution.h"

namespace troupe::cpu {
namespace {

// oneDNN refuses an image of which a stride or more is left over at the far side.
bool dnnl_takes(const ConvSizes& s, DType dtype) {
  if (dtype != DType::f32) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (s.out[i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1;
    if (s.in[i] + s.padding[i] - reach >= s.stride[i]) return false;
  }
  return true;
}

}  // namespace

void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), weight.shape(), y.shape(), options);
  if (dnnl_takes(sizes, y.dtype())) dnnl_convolve(y, x, weight, bias, options);
  else gemm_convolve(y, x, weight, bias, sizes);
}

void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  const ConvSizes sizes(dx.shape(), weight.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dx.dtype())) dnnl_convolve_backward_input(dx, dy, weight, options);
  else gemm_convolve_backward_input(dx, dy, weight, sizes);
}

void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), dw.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dw.dtype())) dnnl_convolve_backward_weight(dw, dy, x, options);
  else gemm_convolve_backward_weight(dw, dy, x, sizes);
}

void convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                       const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), weight.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dx.dtype())) return dnnl_convolve_backward(dx, dw, dy, x, weight, options);
  gemm_convolve_backward_input(dx, dy, weight, sizes);
  gemm_convolve_backward_weight(dw, dy, x, sizes);
}

}  // namespace troupe::cpu
