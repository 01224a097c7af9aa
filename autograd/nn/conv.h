// Convolution layer.
#pragma once

#include <cstdint>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "tensor/generator.h"
#include "tensor/ops_conv.h"

namespace troupe::nn {

/// x (n, in_channels, h, w) -> (n, out_channels, oh, ow), sizes as for conv2d. Parameters: weight (out_channels,
/// in_channels, kernel), bias (out_channels), both uniform in +-1 / sqrt(in_channels * kernel area).
/// forward() may run on several threads at once.
class Conv2d final : public Layer {
 public:
  /// Throws ValueError `[Conv2d] sizes below 1: 0 -> 10, kernel 3 x 3`.
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel, Generator& generator,
         const Conv2dOptions& options = {}, Bias bias = Bias::yes, DType dtype = DType::f32);

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  /// Undefined without a bias.
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  Conv2dOptions options_;
  Variable weight_;
  Variable bias_;
};

}  // namespace troupe::nn
