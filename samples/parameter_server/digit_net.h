// The network that learns digits: two convolutions and two dense layers, 1.2 million parameters.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/conv.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"

namespace samples {

/// The network of PyTorch's MNIST parameter server tutorial. One thread at a time: dropout draws random numbers.
class DigitNet final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal first values.
  explicit DigitNet(std::uint64_t seed);

  /// Scores of the ten digits. Shapes: images (n, 1, 28, 28) f32 -> (n, 10). For training: drops elements out.
  [[nodiscard]] troupe::Variable forward(const troupe::Tensor& images);

  /// The most likely digit of each image, nothing dropped out, whatever the mode. Shapes: images (n, 1, 28, 28) f32 ->
  /// (n) i64.
  [[nodiscard]] troupe::Tensor classify(const troupe::Tensor& images);

 private:
  [[nodiscard]] troupe::Variable scores(const troupe::Tensor& images, troupe::nn::Mode mode);

  std::shared_ptr<troupe::nn::Conv2d> conv1_;
  std::shared_ptr<troupe::nn::Conv2d> conv2_;
  std::shared_ptr<troupe::nn::Dropout> dropout1_;
  std::shared_ptr<troupe::nn::Linear> dense1_;
  std::shared_ptr<troupe::nn::Dropout> dropout2_;
  std::shared_ptr<troupe::nn::Linear> dense2_;
};

}  // namespace samples
