// Layers without parameters that change values or shape; each may run on several threads at once.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/ops_activation.h"

namespace troupe::nn {

/// relu() of each element, as a layer.
class Relu final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// relu6() of each element, as a layer.
class Relu6 final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// leaky_relu() of each element, as a layer.
class LeakyRelu final : public Layer {
 public:
  explicit LeakyRelu(double slope = 0.01) : slope_(slope) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double slope_;
};

/// elu() of each element, as a layer.
class Elu final : public Layer {
 public:
  explicit Elu(double alpha = 1.0) : alpha_(alpha) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double alpha_;
};

/// gelu() of each element, as a layer.
class Gelu final : public Layer {
 public:
  explicit Gelu(troupe::Gelu form = troupe::Gelu::exact) : form_(form) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  troupe::Gelu form_;
};

/// silu() of each element, as a layer.
class Silu final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// softplus() of each element, as a layer.
class Softplus final : public Layer {
 public:
  explicit Softplus(double beta = 1.0) : beta_(beta) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double beta_;
};

/// hardtanh() of each element, as a layer.
class Hardtanh final : public Layer {
 public:
  explicit Hardtanh(double low = -1.0, double high = 1.0) : low_(low), high_(high) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double low_;
  double high_;
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

/// softmax() along a dimension, the last if not said.
class Softmax final : public Layer {
 public:
  explicit Softmax(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// Logarithm of softmax along a dimension, the last if not said.
class LogSoftmax final : public Layer {
 public:
  explicit LogSoftmax(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// (n, ...) -> (n, rest): what stands between convolutions and Linear.
class Flatten final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

}  // namespace troupe::nn
