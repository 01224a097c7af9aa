// Normalisation of variables. Shapes, dtypes and errors are those of tensor/ops/norm.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/norm.h"

namespace troupe {

/// The result of batch_norm on variables.
struct BatchNormVariable {
  Variable output;
  RunningStatistics running;  ///< replaces the given statistics; has no gradient
};

/// `weight` and `bias` of these functions may be undefined.
[[nodiscard]] BatchNormVariable batch_norm(const Variable& x, const RunningStatistics& running = {},
                                           const Variable& weight = {}, const Variable& bias = {},
                                           const BatchNormOptions& options = {});
[[nodiscard]] Variable layer_norm(const Variable& x, const Shape& normalized_shape, const Variable& weight = {},
                                  const Variable& bias = {}, double eps = 1e-5);
[[nodiscard]] Variable group_norm(const Variable& x, std::int64_t groups, const Variable& weight = {},
                                  const Variable& bias = {}, double eps = 1e-5);
[[nodiscard]] Variable instance_norm(const Variable& x, const Variable& weight = {}, const Variable& bias = {},
                                     double eps = 1e-5);

}  // namespace troupe
