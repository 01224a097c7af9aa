// Dropout layer.
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

}  // namespace troupe::nn
