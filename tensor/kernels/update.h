// Update rules: their formulas, the parameters of a step, and the kernels that compute it.
#pragma once

#include <limits>
#include <span>
#include <variant>

#include "tensor/tensor.h"

namespace troupe {

// The formulas. p is the value, g the gradient, and s0, s1, s2 are the states:
//   g = clamp(gradient_scale * gradient, -gradient_limit, gradient_limit)
//   g = g + decay * p                              if decay is not 0

/// s0 = momentum * s0 + share * g   d = g + momentum * s0 with nesterov, else s0   p = p - rate * d
/// Without `has_direction` there is no state and d = g.
struct SgdFormula {
  double rate = 0.0;
  double decay = 0.0;
  double momentum = 0.0;
  double share = 1.0;
  bool has_direction = false;
  bool nesterov = false;
};

/// s0 = beta1 * s0 + (1 - beta1) * g   s1 = beta2 * s1 + (1 - beta2) * g * g   v = s1
/// s2 = max(s2, s1)   v = s2           with amsgrad
/// p = keep * p - rate * s0 / (root_share * sqrt(v) + eps)
struct AdamFormula {
  double rate = 0.0;
  double decay = 0.0;
  double keep = 1.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
  double root_share = 1.0;
  bool amsgrad = false;
};

/// s0 = s0 + g * g   p = p - rate * g / (sqrt(s0) + eps)
struct AdagradFormula {
  double rate = 0.0;
  double decay = 0.0;
  double eps = 0.0;
};

/// s0 = rho * s0 + (1 - rho) * g * g   d = sqrt(s1 + eps) / sqrt(s0 + eps) * g
/// s1 = rho * s1 + (1 - rho) * d * d   p = p - rate * d
struct AdadeltaFormula {
  double rate = 0.0;
  double decay = 0.0;
  double rho = 0.0;
  double eps = 0.0;
};

/// s0 = alpha * s0 + (1 - alpha) * g * g   v = s0
/// s1 = alpha * s1 + (1 - alpha) * g       v = s0 - s1 * s1   with centered
/// d = g / (sqrt(v) + eps)
/// b = momentum * b + d   d = b            if momentum is not 0; b is the last state
/// p = p - rate * d
struct RmspropFormula {
  double rate = 0.0;
  double decay = 0.0;
  double alpha = 0.0;
  double eps = 0.0;
  double momentum = 0.0;
  bool centered = false;
};

/// s0 = beta1 * s0 + (1 - beta1) * g   s1 = max(beta2 * s1, |g| + eps)   p = p - rate * s0 / s1
struct AdamaxFormula {
  double rate = 0.0;
  double decay = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
};

/// s0 = beta1 * s0 + (1 - beta1) * g   s1 = beta2 * s1 + (1 - beta2) * g * g   d = root_share * sqrt(s1) + eps
/// p = p - gradient_rate * g / d - mean_rate * s0 / d
struct NAdamFormula {
  double gradient_rate = 0.0;
  double mean_rate = 0.0;
  double decay = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
  double root_share = 1.0;
};

/// s0 = beta1 * s0 + (1 - beta1) * g   s1 = beta2 * s1 + (1 - beta2) * g * g
/// p = p - rate * s0 / (sqrt(s1) + eps)  if is_rectified, else  p - rate * s0
struct RAdamFormula {
  double rate = 0.0;
  double decay = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
  bool is_rectified = false;
};

/// p = keep * p - rate * g   s0 = s0 + share * (p - s0), with the next p; s0 = p with replaces_mean
struct AsgdFormula {
  double rate = 0.0;
  double decay = 0.0;
  double keep = 1.0;
  double share = 1.0;
  bool replaces_mean = false;
};

/// s1 = first_size                                   if is_first
/// s1 = clamp(f * s1, size_min, size_max), where f is eta_plus if g * s0 > 0, eta_minus if it is < 0, else 1
/// g = 0 if g * s0 < 0   p = p - sign(g) * s1   s0 = g
struct RpropFormula {
  double eta_minus = 0.0;
  double eta_plus = 0.0;
  double size_min = 0.0;
  double size_max = 0.0;
  double first_size = 0.0;
  bool is_first = false;
};

/// Any of the formulas.
using AnyFormula = std::variant<SgdFormula, AdamFormula, AdagradFormula, AdadeltaFormula, RmspropFormula, AdamaxFormula,
                                RpropFormula, NAdamFormula, RAdamFormula, AsgdFormula>;
/// One of them. A class, so that headers of update rules can declare it without its alternatives.
struct UpdateFormula : AnyFormula {
  using AnyFormula::variant;
};

/// One parameter in one step. REQUIRES: all tensors are contiguous, of one shape and on one device; value, gradient and
/// next have one floating dtype, the states its compute_dtype. A value of 16 bits has one more state, the last: its
/// master copy in f32. The step starts from the master copy, and `next` is the new master copy rounded. Where the value
/// differs from the rounded master copy, other code wrote it, and the step starts from the value.
struct UpdateItem {
  Tensor value;
  Tensor gradient;
  Tensor next;                     ///< in memory that no other tensor here uses, or the gradient
  std::span<const Tensor> states;  ///< owned by the caller, as next_states, until the call returns
  std::span<Tensor> next_states;   ///< may be `states`: then they are updated in place
  UpdateFormula formula;
  double gradient_scale = 1.0;
  double gradient_limit = std::numeric_limits<double>::infinity();
  Tensor rows = {};  ///< i64 (n), ascending: the gradient is (n, ...), and only these rows are written
};

}  // namespace troupe

namespace troupe::kernels {

/// The update kernels of a device.
struct UpdateKernels {
  /// Computes every item as troupe::update(). REQUIRES: at least one item; all are checked. Throws DeviceError before
  /// any write if tensors are on different devices.
  void (*update)(std::span<UpdateItem> items);
};

}  // namespace troupe::kernels

namespace troupe::cpu {
extern const kernels::UpdateKernels update_kernels;
}  // namespace troupe::cpu
namespace troupe::cuda {
extern const kernels::UpdateKernels update_kernels;
}  // namespace troupe::cuda
