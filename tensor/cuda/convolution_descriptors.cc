#include "tensor/cuda/convolution_descriptors.h"

namespace troupe::cuda {
namespace {

constexpr int kDims = 4;

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return CUDNN_DATA_HALF;
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    case DType::f32: return CUDNN_DATA_FLOAT;
    default: return CUDNN_DATA_DOUBLE;
  }
}

/// The allowed math types. f32 is never rounded to TF32.
cudnnMathType_t math_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return CUDNN_FMA_MATH;
    case DType::f64: return CUDNN_DEFAULT_MATH;
    default: return CUDNN_TENSOR_OP_MATH;
  }
}

}  // namespace

ConvolutionDescriptors::ConvolutionDescriptors(const DnnFunctions& functions, const ConvolutionPlan& plan)
    : functions_(functions), dtype_(plan.dtype) {
  try {
    set(plan);
  } catch (...) {
    destroy();
    throw;
  }
}

ConvolutionDescriptors::~ConvolutionDescriptors() { destroy(); }

void ConvolutionDescriptors::set(const ConvolutionPlan& plan) {
  const auto check = [this](cudnnStatus_t status) { require_success(functions_, status); };
  const cudnnDataType_t type = cudnn_type(plan.dtype);
  const auto set_tensor = [&](cudnnTensorDescriptor_t& tensor, const std::array<int, kDims>& sizes) {
    check(functions_.create_tensor(&tensor));
    check(functions_.set_tensor(tensor, type, kDims, sizes.data(), strides_of(sizes).data()));
  };
  set_tensor(x_, plan.x);
  set_tensor(y_, plan.y);
  check(functions_.create_filter(&weight_));
  check(functions_.set_filter(weight_, type, CUDNN_TENSOR_NCHW, kDims, plan.weight.data()));
  check(functions_.create_convolution(&convolution_));
  check(functions_.set_convolution(convolution_, kDims - 2, plan.padding.data(), plan.stride.data(),
                                   plan.dilation.data(), CUDNN_CROSS_CORRELATION,
                                   plan.dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
  check(functions_.set_groups(convolution_, plan.groups));
  check(functions_.set_math(convolution_, math_type(plan.dtype)));
}

void ConvolutionDescriptors::destroy() noexcept {
  if (x_ != nullptr) functions_.destroy_tensor(x_);
  if (y_ != nullptr) functions_.destroy_tensor(y_);
  if (weight_ != nullptr) functions_.destroy_filter(weight_);
  if (convolution_ != nullptr) functions_.destroy_convolution(convolution_);
}

std::array<int, 4> ConvolutionDescriptors::counted() const {
  std::array<int, 4> sizes{};
  require_success(functions_, functions_.output_sizes(convolution_, x_, weight_, kDims, sizes.data()));
  return sizes;
}

bool ConvolutionDescriptors::is_exact(cudnnMathType_t math) const noexcept {
  return dtype_ == DType::f32 ? math == CUDNN_FMA_MATH || math == CUDNN_DEFAULT_MATH
                              : math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
}

void ConvolutionDescriptors::set_math(cudnnMathType_t math) {
  if (dtype_ != DType::f32) require_success(functions_, functions_.set_math(convolution_, math));
}

}  // namespace troupe::cuda
