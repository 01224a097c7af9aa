// Layers that change only the shape. Their forward() is thread-safe.
#pragma once

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Returns its input: a placeholder for a removed layer.
class Identity final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// flatten() as a layer. The default maps (n, ...) to (n, rest), as between convolutions and Linear.
class Flatten final : public Layer {
 public:
  explicit Flatten(int first_dim = 1, int last_dim = -1) : first_dim_(first_dim), last_dim_(last_dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int first_dim_;
  int last_dim_;
};

/// unflatten() as a layer: splits dimension `dim` into dimensions of `sizes`.
class Unflatten final : public Layer {
 public:
  Unflatten(int dim, const Shape& sizes) : dim_(dim), sizes_(sizes) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
  Shape sizes_;
};

}  // namespace troupe::nn
