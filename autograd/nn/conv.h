// Convolution layers. Parameters: weight and, unless Bias::no, bias. Both start uniform in +-1 / sqrt(fan_in of the
// weight). forward() is thread-safe.
#pragma once

#include <cstdint>

#include "autograd/nn/linear.h"
#include "autograd/nn/module.h"
#include "tensor/generator.h"
#include "tensor/ops/conv.h"

namespace troupe::nn {

/// Maps x (n, in_channels, h, w) to (n, out_channels, oh, ow); sizes as for conv2d.
/// Shapes: weight (out_channels, in_channels / groups, kernel), bias (out_channels).
class Conv2d final : public Layer {
 public:
  /// Throws ValueError `[Conv2d] sizes below 1: 0 -> 10, kernel (3, 3)`,
  /// `[Conv2d] channels do not divide into 3 groups: 6 -> 4`.
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

/// As Conv2d in one dimension: x (n, in_channels, l) -> (n, out_channels, ol).
class Conv1d final : public Layer {
 public:
  Conv1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel, Generator& generator,
         const Conv1dOptions& options = {}, Bias bias = Bias::yes, DType dtype = DType::f32);

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  Conv1dOptions options_;
  Variable weight_;
  Variable bias_;
};

/// Maps x (n, in_channels, h, w) to (n, out_channels, oh, ow); sizes as for conv_transpose2d, errors as for Conv2d.
/// Shapes: weight (in_channels, out_channels / groups, kernel), bias (out_channels).
class ConvTranspose2d final : public Layer {
 public:
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel, Generator& generator,
                  const ConvTranspose2dOptions& options = {}, Bias bias = Bias::yes, DType dtype = DType::f32);

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  ConvTranspose2dOptions options_;
  Variable weight_;
  Variable bias_;
};

/// As ConvTranspose2d in one dimension: x (n, in_channels, l) -> (n, out_channels, ol).
class ConvTranspose1d final : public Layer {
 public:
  ConvTranspose1d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel, Generator& generator,
                  const ConvTranspose1dOptions& options = {}, Bias bias = Bias::yes, DType dtype = DType::f32);

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  ConvTranspose1dOptions options_;
  Variable weight_;
  Variable bias_;
};

}  // namespace troupe::nn
