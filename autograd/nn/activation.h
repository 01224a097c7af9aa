// Layers without parameters that change values or shape; each may run on several threads at once.
#pragma once

#include "autograd/nn/module.h"

namespace troupe::nn {

/// relu() of each element, as a layer.
class Relu final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// tanh() of each element, as a layer.
class Tanh final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// sigmoid() of each element, as a layer.
class Sigmoid final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// Logarithm of softmax along the last dimension.
class LogSoftmax final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// (n, ...) -> (n, rest): what stands between convolutions and Linear.
class Flatten final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

}  // namespace troupe::nn
