// Pooling layer.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/ops_nn.h"

namespace troupe::nn {

/// Largest element of each window; no parameters. forward() may run on several threads at once.
class MaxPool2d final : public Layer {
 public:
  explicit MaxPool2d(const Pool2dOptions& options = {}) : options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Pool2dOptions options_;
};

}  // namespace troupe::nn
