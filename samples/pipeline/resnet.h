// ResNet-50 in two halves, for two nodes. Source: He et al., "Deep residual learning for image recognition", 2015.
#pragma once

#include <cstdint>
#include <memory>

#include "autograd/nn/conv.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/sequential.h"

namespace samples {

/// The first convolution and the first two stages. Threads: as BatchNorm2d.
class FirstHalf final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal first values.
  explicit FirstHalf(std::uint64_t seed);

  /// Shapes: images (n, 3, h, w) f32 -> (n, 512, h / 8, w / 8).
  [[nodiscard]] troupe::Variable forward(const troupe::Variable& images);

 private:
  std::shared_ptr<troupe::nn::Conv2d> conv_;
  std::shared_ptr<troupe::nn::BatchNorm2d> norm_;
  std::shared_ptr<troupe::nn::Sequential> stages_;
};

/// The last two stages and the classes. Threads: as BatchNorm2d.
class SecondHalf final : public troupe::nn::Module {
 public:
  SecondHalf(std::uint64_t seed, std::int64_t classes);

  /// Shapes: (n, 512, h, w) f32 -> scores (n, classes).
  [[nodiscard]] troupe::Variable forward(const troupe::Variable& features);

 private:
  std::shared_ptr<troupe::nn::Sequential> stages_;
  std::shared_ptr<troupe::nn::Linear> classify_;
};

}  // namespace samples
