// Normalisation of variables. Shapes, dtypes and errors are those of tensor/ops/norm.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/norm.h"

namespace troupe {

/// What batch_norm of variables gives.
struct BatchNormVariable {
  Variable output;
  RunningStatistics running;  ///< to replace those given; no gradient goes through them
};

/// `weight` and `bias` of these may be undefined.
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
