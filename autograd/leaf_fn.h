// The vertex where a leaf's gradient ends.
#pragma once

#include <memory>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"

namespace troupe {

/// One per leaf that requires a gradient, made with it. Holds its variable weakly: nobody can ask for the gradient of
/// a variable that no handle names any more.
class LeafFn final : public GradFn {
 public:
  explicit LeafFn(std::weak_ptr<Variable::State> state);

  /// The leaf; undefined if its last handle is gone.
  [[nodiscard]] Variable variable() const;

  /// Never called by the engine. Throws std::logic_error.
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  std::weak_ptr<Variable::State> state_;
};

}  // namespace troupe
