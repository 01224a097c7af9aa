#include "tensor/kernels/convolution.h"

#include <algorithm>

#include "tensor/cpu/direct_convolution.h"
#include "tensor/cpu/dnnl_convolution.h"
#include "tensor/cpu/gemm_convolution.h"

namespace troupe::cpu {
namespace {

// oneDNN rejects images of which a stride or more at the far side is unused.
bool dnnl_takes(const ConvSizes& s, DType dtype) {
  if (dtype != DType::f32) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (s.out[i] - 1) * s.stride[i] + s.dilation[i] * (s.kernel[i] - 1) + 1;
    if (s.in[i] + s.padding[i] - reach >= s.stride[i]) return false;
  }
  return true;
}

// Cases in which a matrix product is faster than oneDNN, which reorders images and filters. The limits are measured on
// one thread of a processor with AVX-512.

bool is_product(const ConvSizes& s) { return s.groups == 1 && s.taps() == 1; }

// oneDNN vectorizes over channels.
bool has_few_inputs(const ConvSizes& s, std::int64_t limit) { return s.groups == 1 && s.inputs <= limit; }

// With few pixels and large filters, reordering the filters takes longer than using them.
bool has_few_pixels(const ConvSizes& s, std::int64_t limit) {
  return s.groups == 1 && s.images * s.out_pixels() <= limit;
}
std::int64_t filter_elements(const ConvSizes& s) { return s.outputs * s.depth(); }
constexpr std::int64_t kLargeFilters = 1 << 20;

// Results of few products, which oneDNN and matrix products do not compute faster than they lay out images.
bool has_few_products(const ConvSizes& s) { return s.depth() <= 32; }

bool forward_is_faster(const ConvSizes& s) {
  return is_product(s) || (filter_elements(s) >= kLargeFilters && has_few_pixels(s, 64));
}

bool backward_input_is_faster(const ConvSizes& s) {
  return is_product(s) || has_few_inputs(s, 8) || (filter_elements(s) >= kLargeFilters && has_few_pixels(s, 32));
}

bool backward_weight_is_faster(const ConvSizes& s) {
  const std::int64_t pixels_max = std::min<std::int64_t>(filter_elements(s) / 2048, 256);
  return is_product(s) || (has_few_inputs(s, 1) && s.taps() <= 9) || has_few_pixels(s, pixels_max);
}

void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), weight.shape(), y.shape(), options);
  if (!is_product(sizes) && has_few_products(sizes) && direct_takes(sizes, y.dtype())) {
    direct_convolve(y, x, weight, bias, sizes);
  } else if (dnnl_takes(sizes, y.dtype()) && !forward_is_faster(sizes)) {
    dnnl_convolve(y, x, weight, bias, options);
  } else {
    gemm_convolve(y, x, weight, bias, sizes);
  }
}

void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  const ConvSizes sizes(dx.shape(), weight.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dx.dtype()) && !backward_input_is_faster(sizes)) {
    dnnl_convolve_backward_input(dx, dy, weight, options);
  } else {
    gemm_convolve_backward_input(dx, dy, weight, sizes);
  }
}

void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), dw.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dw.dtype()) && !backward_weight_is_faster(sizes)) {
    dnnl_convolve_backward_weight(dw, dy, x, options);
  } else {
    gemm_convolve_backward_weight(dw, dy, x, sizes);
  }
}

void convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                       const Conv2dOptions& options) {
  const ConvSizes sizes(x.shape(), weight.shape(), dy.shape(), options);
  if (dnnl_takes(sizes, dx.dtype()) && !backward_input_is_faster(sizes) && !backward_weight_is_faster(sizes)) {
    return dnnl_convolve_backward(dx, dw, dy, x, weight, options);
  }
  convolve_backward_input(dx, dy, weight, options);
  convolve_backward_weight(dw, dy, x, options);
}

}  // namespace

const kernels::ConvolutionKernels convolution_kernels{.convolve = convolve,
                                                      .convolve_backward_input = convolve_backward_input,
                                                      .convolve_backward_weight = convolve_backward_weight,
                                                      .convolve_backward = convolve_backward};

}  // namespace troupe::cpu
