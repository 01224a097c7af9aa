// Dropout layers. Each has a generator of its own, so that one thread at a time uses it.
#pragma once

#include "autograd/nn/module.h"
#include "tensor/generator.h"

namespace troupe::nn {

/// Drops elements out while training, does nothing in eval mode. Source: Srivastava et al., 2014, with the survivors
/// scaled in training. One thread at a time: the layer draws from its own generator.
class Dropout final : public Layer {
 public:
  /// Takes one draw of `generator` as the seed of its own.
  /// Throws ValueError `[Dropout] probability outside [0, 1): 1.5`.
  Dropout(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

/// dropout1d() while training: whole channels of (n, channels, length) or (channels, length); does nothing in eval
/// mode.
class Dropout1d final : public Layer {
 public:
  /// Takes one draw of `generator` as the seed of its own.
  /// Throws ValueError `[Dropout1d] probability outside [0, 1): 1.5`.
  Dropout1d(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

/// dropout2d() while training: whole channels of (n, channels, h, w); does nothing in eval mode.
class Dropout2d final : public Layer {
 public:
  /// Takes one draw of `generator` as the seed of its own.
  /// Throws ValueError `[Dropout2d] probability outside [0, 1): 1.5`.
  Dropout2d(double probability, Generator& generator);

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  double probability_;
  Generator generator_;
};

}  // namespace troupe::nn
