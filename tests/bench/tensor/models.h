// Networks for the benchmarks of training steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/nn/conv.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/norm.h"
#include "tensor/generator.h"

namespace troupe::bench {

/// The digit classifier of PyTorch's MNIST example: images (n, 1, 28, 28) -> scores (n, 10).
class MnistNet final : public nn::Layer {
 public:
  explicit MnistNet(Generator& generator);
  [[nodiscard]] Variable forward(const Variable& images) override;

 private:
  std::shared_ptr<nn::Conv2d> conv1_, conv2_;
  std::shared_ptr<nn::Dropout> dropout1_, dropout2_;
  std::shared_ptr<nn::Linear> dense1_, dense2_;
};

/// Convolutions 1x1, 3x3 and 1x1 with a shortcut, which is a convolution where sizes change.
class Bottleneck final : public nn::Layer {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t inputs, std::int64_t width, std::int64_t stride, Generator& generator);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::shared_ptr<nn::Conv2d> conv1_, conv2_, conv3_, shortcut_;
  std::shared_ptr<nn::BatchNorm2d> norm1_, norm2_, norm3_, shortcut_norm_;
};

/// ResNet-50: images (n, 3, h, w) -> scores (n, 1000). The stride is in the 3x3 convolution, as in torchvision.
/// Source: He et al., "Deep residual learning for image recognition", 2016, table 1.
class ResNet50 final : public nn::Layer {
 public:
  explicit ResNet50(Generator& generator);
  [[nodiscard]] Variable forward(const Variable& images) override;

 private:
  std::shared_ptr<nn::Conv2d> conv_;
  std::shared_ptr<nn::BatchNorm2d> norm_;
  std::vector<std::shared_ptr<Bottleneck>> blocks_;
  std::shared_ptr<nn::Linear> classifier_;
};

}  // namespace troupe::bench
