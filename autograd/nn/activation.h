// Activations as layers. Their forward() is thread-safe.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "tensor/ops/activation.h"

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

/// softmax() along a dimension, by default the last, as a layer.
class Softmax final : public Layer {
 public:
  explicit Softmax(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// log_softmax() along a dimension, by default the last, as a layer.
class LogSoftmax final : public Layer {
 public:
  explicit LogSoftmax(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// softmin() along a dimension, by default the last, as a layer.
class Softmin final : public Layer {
 public:
  explicit Softmin(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// log_sigmoid() of each element, as a layer.
class LogSigmoid final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// selu() of each element, as a layer.
class Selu final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// celu() of each element, as a layer.
class Celu final : public Layer {
 public:
  explicit Celu(double alpha = 1.0) : alpha_(alpha) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double alpha_;
};

/// mish() of each element, as a layer.
class Mish final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// softsign() of each element, as a layer.
class Softsign final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// tanhshrink() of each element, as a layer.
class Tanhshrink final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// hardsigmoid() of each element, as a layer.
class Hardsigmoid final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// hardswish() of each element, as a layer.
class Hardswish final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// softshrink() of each element, as a layer.
class Softshrink final : public Layer {
 public:
  explicit Softshrink(double lambda = 0.5) : lambda_(lambda) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double lambda_;
};

/// hardshrink() of each element, as a layer.
class Hardshrink final : public Layer {
 public:
  explicit Hardshrink(double lambda = 0.5) : lambda_(lambda) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double lambda_;
};

/// threshold() of each element, as a layer.
class Threshold final : public Layer {
 public:
  Threshold(double limit, double value) : limit_(limit), value_(value) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double limit_;
  double value_;
};

/// glu() along a dimension, by default the last, as a layer.
class Glu final : public Layer {
 public:
  explicit Glu(int dim = -1) : dim_(dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
};

/// prelu() with a learned slope, as a layer. Parameter: weight (channels), or one slope for all channels.
class Prelu final : public Layer {
 public:
  explicit Prelu(std::int64_t channels = 1, double start = 0.25, DType dtype = DType::f32);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Variable weight_;
};

}  // namespace troupe::nn
