// Compares backward with finite differences.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "autograd/variable.h"

namespace troupe {

/// How close a gradient must come to the difference quotient.
struct GradcheckOptions {
  double step = 1e-5;  ///< of the central differences
  double rtol = 1e-6;  ///< relative to the difference quotient
  double atol = 1e-8;
};

/// True if every element agrees.
struct GradcheckResult {
  bool ok = true;
  std::string worst;  ///< "input 1, element 3: backward 0.5, differences 0.25"; empty without inputs
  explicit operator bool() const noexcept { return ok; }
};

/// Checks the gradient of `function` at `inputs`, which are f64 leaves that require one. Results of any shape are
/// reduced to a number with fixed weights, each different, so that errors do not cancel. A missing gradient counts as
/// 0. `function` gives the same result for the same values: make generators inside it. The values of `inputs` are
/// changed and restored. Throws DTypeError `[gradcheck] input 0 is not f64: f32`. Evaluates `function` twice per
/// element.
[[nodiscard]] GradcheckResult gradcheck(const std::function<Variable(std::span<const Variable>)>& function,
                                        std::span<const Variable> inputs, const GradcheckOptions& options = {});

}  // namespace troupe
