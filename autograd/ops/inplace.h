// In-place operations on variables, for programs that initialise, average or step parameters by hand.
//
// They record nothing. REQUIRES: `x` and the other operand require no gradient, or a NoGradGuard is active. In the
// first run of a checkpointed function this also holds for its inputs and for views of what its replay needs. Otherwise
// they throw TensorError
// `[add_] writes into a variable that requires a gradient: do it under a NoGradGuard`, or
// `[add_] the other operand requires a gradient, which it would not get: detach() it, or do it under a NoGradGuard`.
// The backward of a graph that saved the value fails afterwards, because the version counter differs;
// Variable::set_value() leaves graphs intact. Not thread-safe: no other thread may read the value during the call.
// Each returns `x`. Shapes, dtypes and errors are those of tensor/ops/inplace.h.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/inplace.h"

namespace troupe {

Variable add_(const Variable& x, const Variable& other, double alpha = 1.0);
Variable add_(const Variable& x, double other);
Variable sub_(const Variable& x, const Variable& other, double alpha = 1.0);
Variable sub_(const Variable& x, double other);
Variable mul_(const Variable& x, const Variable& other);
Variable mul_(const Variable& x, double other);
Variable div_(const Variable& x, const Variable& other);
Variable div_(const Variable& x, double other);
Variable clamp_(const Variable& x, double low, double high);
Variable fill_(const Variable& x, double value);
Variable zero_(const Variable& x);
Variable copy_(const Variable& x, const Variable& source);

}  // namespace troupe
