// The network that tells which of two moons a point belongs to.
#pragma once

#include <cstdint>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"

namespace samples {

/// Two dense layers. A new one has learnt already, which takes about a tenth of a second.
class MoonNet final : public troupe::nn::Module {
 public:
  /// Equal seeds give equal networks.
  explicit MoonNet(std::uint64_t seed);

  /// How likely each point belongs to the upper moon. Shapes: points (n, 2) f32 -> (n) f32. Any thread may call it.
  [[nodiscard]] troupe::Tensor chances(const troupe::Tensor& points) const;

 private:
  [[nodiscard]] troupe::Variable logits(const troupe::Tensor& points) const;

  std::shared_ptr<troupe::nn::Linear> hidden_;
  std::shared_ptr<troupe::nn::Linear> output_;
};

}  // namespace samples
