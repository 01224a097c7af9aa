// Fully connected layer.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

enum class Bias : std::uint8_t { no, yes };

/// Maps x (..., inputs) to (..., outputs). Parameters: weight (outputs, inputs), bias (outputs), both initially uniform
/// in +-1 / sqrt(inputs). forward() is thread-safe.
class Linear final : public Layer {
 public:
  /// Throws ValueError `[Linear] sizes below 1: 0 -> 10`.
  Linear(std::int64_t inputs, std::int64_t outputs, Generator& generator, Bias bias = Bias::yes,
         DType dtype = DType::f32);

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  /// Undefined without a bias.
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  Variable weight_;
  Variable bias_;
};

}  // namespace troupe::nn
