// Convolutions of variables. Names, shapes, dtypes and errors are those of tensor/ops_conv.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops_conv.h"

namespace troupe {

/// `bias` may be undefined.
[[nodiscard]] Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias = {},
                              const Conv2dOptions& options = {});

}  // namespace troupe
