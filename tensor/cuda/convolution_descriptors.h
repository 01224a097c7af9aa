// A planned convolution as cuDNN's descriptors.
#pragma once

#include "tensor/cuda/convolution_plan.h"
#include "tensor/cuda/cudnn.h"

namespace troupe::cuda {

/// Owns the descriptors of a convolution. Needs no GPU.
class ConvolutionDescriptors {
 public:
  /// REQUIRES: plan.y equals counted(): plans count windows as cuDNN does. Throws DeviceError `[convolution]
  /// CUDNN_STATUS_BAD_PARAM` and the like.
  ConvolutionDescriptors(const DnnFunctions& functions, const ConvolutionPlan& plan);
  ~ConvolutionDescriptors();
  ConvolutionDescriptors(const ConvolutionDescriptors&) = delete;
  ConvolutionDescriptors& operator=(const ConvolutionDescriptors&) = delete;

  [[nodiscard]] cudnnTensorDescriptor_t x() const noexcept { return x_; }
  [[nodiscard]] cudnnTensorDescriptor_t y() const noexcept { return y_; }
  [[nodiscard]] cudnnFilterDescriptor_t weight() const noexcept { return weight_; }
  [[nodiscard]] cudnnConvolutionDescriptor_t convolution() const noexcept { return convolution_; }
  /// Returns the sizes that cuDNN computes for `y`.
  [[nodiscard]] std::array<int, 4> counted() const;

  /// Returns whether an algorithm with this math type rounds no operand.
  [[nodiscard]] bool is_exact(cudnnMathType_t math) const noexcept;
  /// Sets the math type with which cuDNN offered the chosen algorithm. For f32 it stays FMA in any case.
  void set_math(cudnnMathType_t math);

 private:
  void set(const ConvolutionPlan& plan);
  void destroy() noexcept;

  const DnnFunctions& functions_;
  DType dtype_;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t weight_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

}  // namespace troupe::cuda
