// Operations that write into the value of a variable, for programs that initialise, average or step parameters by hand.
//
// Nothing is recorded, so they are for variables that require no gradient, and for all of them under a NoGradGuard;
// else they throw TensorError `[add_] writes into a variable that requires a gradient: do it under a NoGradGuard`, or
// `[add_] the other operand requires a gradient, which it would not get: detach() it, or do it under a NoGradGuard`.
// A graph that saved the value refuses backward from then on: its versions differ. Variable::set_value() is the way
// that leaves graphs alone. Nobody may read the value meanwhile. For the rest see tensor/ops/inplace.h; returns `x`.
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
