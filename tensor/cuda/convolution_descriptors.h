// A planned convolution in cuDNN's words.
#pragma once

#include "tensor/cuda/convolution_plan.h"
#include "tensor/cuda/cudnn.h"

namespace troupe::cuda {

/// What cuDNN is told of a convolution. Needs no GPU.
class ConvolutionDescriptors {
 public:
  /// Throws DeviceError `[convolution] CUDNN_STATUS_BAD_PARAM` and the like. Our count of windows is cuDNN's.
  ConvolutionDescriptors(const DnnFunctions& functions, const ConvolutionPlan& plan);
  ~ConvolutionDescriptors();
  ConvolutionDescriptors(const ConvolutionDescriptors&) = delete;
  ConvolutionDescriptors& operator=(const ConvolutionDescriptors&) = delete;

  [[nodiscard]] cudnnTensorDescriptor_t x() const noexcept { return x_; }
  [[nodiscard]] cudnnTensorDescriptor_t y() const noexcept { return y_; }
  [[nodiscard]] cudnnFilterDescriptor_t weight() const noexcept { return weight_; }
  [[nodiscard]] cudnnConvolutionDescriptor_t convolution() const noexcept { return convolution_; }
  /// What cuDNN says that `y` must be.
  [[nodiscard]] std::array<int, 4> counted() const;

  /// Whether an algorithm of this kind of mathematics rounds no operand.
  [[nodiscard]] bool is_exact(cudnnMathType_t math) const noexcept;
  /// Makes the kind of mathematics the one that the chosen algorithm was offered with; f32 stays FMA, whatever that
  /// was.
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
