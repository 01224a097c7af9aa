// The vertex where a leaf's gradient ends.
#pragma once

#include <memory>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"

namespace troupe {

/// One per leaf that requires a gradient. Holds its variable weakly: without a handle of the variable, no caller can
/// ask for its gradient.
class LeafFn final : public GradFn {
 public:
  explicit LeafFn(std::weak_ptr<Variable::State> state);

  /// Returns the leaf; undefined if its last handle is gone.
  [[nodiscard]] Variable variable() const;

  /// Throws std::logic_error: the engine never calls it.
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  std::weak_ptr<Variable::State> state_;
};

}  // namespace troupe
