// Compares backward with finite differences.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "autograd/variable.h"

namespace troupe {

/// The tolerated difference between a gradient and its difference quotient.
struct GradcheckOptions {
  double step = 1e-5;  ///< of the central differences
  double rtol = 1e-6;  ///< relative to the difference quotient
  double atol = 1e-8;
};

/// Converts to true if every element agrees.
struct GradcheckResult {
  bool ok = true;
  std::string worst;  ///< "input 1, element 3: backward 0.5, differences 0.25"; empty without inputs
  explicit operator bool() const noexcept { return ok; }
};

/// Compares the gradient of `function` at `inputs` with central differences. REQUIRES: `inputs` are f64 leaves that
/// require a gradient; `function` returns the same result for the same values (create generators inside it). A result
/// of any shape is reduced to a number with fixed, distinct weights, so that errors do not cancel. A missing gradient
/// counts as 0. Changes the values of `inputs` and restores them, also if `function` throws. Evaluates `function` twice
/// per element. Throws DTypeError `[gradcheck] input 0 is not f64: f32`.
[[nodiscard]] GradcheckResult gradcheck(const std::function<Variable(std::span<const Variable>)>& function,
                                        std::span<const Variable> inputs, const GradcheckOptions& options = {});

}  // namespace troupe
