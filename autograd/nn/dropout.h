// Dropout layers. Each draws from a generator of its own and is therefore not thread-safe.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Drops elements in training, and scales the remaining ones by 1 / (1 - probability). Returns its input in eval mode.
/// Source: Srivastava et al., 2014. Not thread-safe: the layer draws from its own generator.
class Dropout final : public Layer {
 public:
  /// Seeds the layer's own generator with one draw from `generator`.
  /// Throws ValueError `[Dropout] probability outside [0, 1): 1.5`.
  Dropout(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

/// dropout1d() in training: drops whole channels of (n, channels, length) or (channels, length). Returns its input in
/// eval mode.
class Dropout1d final : public Layer {
 public:
  /// Seeds the layer's own generator with one draw from `generator`.
  /// Throws ValueError `[Dropout1d] probability outside [0, 1): 1.5`.
  Dropout1d(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

/// dropout2d() in training: drops whole channels of (n, channels, h, w). Returns its input in eval mode.
class Dropout2d final : public Layer {
 public:
  /// Seeds the layer's own generator with one draw from `generator`.
  /// Throws ValueError `[Dropout2d] probability outside [0, 1): 1.5`.
  Dropout2d(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

}  // namespace troupe::nn
