// Pooling of variables. Names, shapes, dtypes and errors are those of tensor/ops_pool.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops_pool.h"

namespace troupe {

[[nodiscard]] Variable max_pool2d(const Variable& x, const Pool2dOptions& options = {});

}  // namespace troupe
