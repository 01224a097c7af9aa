// Pooling layer.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/ops_pool.h"

namespace troupe::nn {

/// Largest element of each window; no parameters. forward() may run on several threads at once.
class MaxPool2d final : public Layer {
 public:
  explicit MaxPool2d(const MaxPool2dOptions& options = {}) : options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  MaxPool2dOptions options_;
};

}  // namespace troupe::nn
