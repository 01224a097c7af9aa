// Layers that change nothing but the shape; each may run on several threads at once.
#pragma once

#include "autograd/nn/module.h"

namespace troupe::nn {

/// Gives its input back: what stands where a layer was taken out.
class Identity final : public Layer {
 public:
  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// flatten() as a layer. As it is made by default, (n, ...) -> (n, rest): what stands between convolutions and Linear.
class Flatten final : public Layer {
 public:
  explicit Flatten(int first_dim = 1, int last_dim = -1) : first_dim_(first_dim), last_dim_(last_dim) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int first_dim_;
  int last_dim_;
};

/// unflatten() as a layer: dimension `dim` becomes several, of `sizes`.
class Unflatten final : public Layer {
 public:
  Unflatten(int dim, const Shape& sizes) : dim_(dim), sizes_(sizes) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  int dim_;
  Shape sizes_;
};

}  // namespace troupe::nn
