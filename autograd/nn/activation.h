// Layers without parameters that change values or shape; each may run on several threads at once.
#pragma once

#include "autograd/nn/module.h"

namespace troupe::nn {

class Relu final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

class Tanh final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

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
