// Convolutions of variables. Names, shapes, dtypes and errors are those of tensor/ops/conv.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/conv.h"

namespace troupe {

// `bias` may be undefined.

[[nodiscard]] Variable conv1d(const Variable& x, const Variable& weight, const Variable& bias = {},
                              const Conv1dOptions& options = {});
[[nodiscard]] Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias = {},
                              const Conv2dOptions& options = {});
[[nodiscard]] Variable conv_transpose1d(const Variable& x, const Variable& weight, const Variable& bias = {},
                                        const ConvTranspose1dOptions& options = {});
[[nodiscard]] Variable conv_transpose2d(const Variable& x, const Variable& weight, const Variable& bias = {},
                                        const ConvTranspose2dOptions& options = {});

}  // namespace troupe
