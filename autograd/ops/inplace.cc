#include "autograd/ops/inplace.h"

#include <fmt/format.h>

#include <string_view>

#include "autograd/reads.h"

namespace troupe {
namespace {

/// Returns the value of `x` for writing.
Tensor written(std::string_view name, const Variable& x) {
  if (detail::wants_values(x)) {
    throw TensorError(
        fmt::format("[{}] writes into a variable that requires a gradient: do it under a NoGradGuard", name));
  }
  return x.value();
}

/// Returns the value of the other operand.
Tensor read(std::string_view name, const Variable& other) {
  if (detail::wants_gradient(other)) {
    throw TensorError(
        fmt::format("[{}] the other operand requires a gradient, which it would not get: detach() it, or "
                    "do it under a NoGradGuard",
                    name));
  }
  return other.value();
}

}  // namespace

Variable add_(const Variable& x, const Variable& other, double alpha) {
  add_(written("add_", x), read("add_", other), alpha);
  return x;
}
Variable add_(const Variable& x, double other) {
  add_(written("add_", x), other);
  return x;
}
Variable sub_(const Variable& x, const Variable& other, double alpha) {
  sub_(written("sub_", x), read("sub_", other), alpha);
  return x;
}
Variable sub_(const Variable& x, double other) {
  sub_(written("sub_", x), other);
  return x;
}
Variable mul_(const Variable& x, const Variable& other) {
  mul_(written("mul_", x), read("mul_", other));
  return x;
}
Variable mul_(const Variable& x, double other) {
  mul_(written("mul_", x), other);
  return x;
}
Variable div_(const Variable& x, const Variable& other) {
  div_(written("div_", x), read("div_", other));
  return x;
}
Variable div_(const Variable& x, double other) {
  div_(written("div_", x), other);
  return x;
}
Variable clamp_(const Variable& x, double low, double high) {
  clamp_(written("clamp_", x), low, high);
  return x;
}
Variable fill_(const Variable& x, double value) {
  fill_(written("fill_", x), value);
  return x;
}
Variable zero_(const Variable& x) {
  zero_(written("zero_", x));
  return x;
}
Variable copy_(const Variable& x, const Variable& source) {
  copy_(written("copy_", x), read("copy_", source));
  return x;
}

}  // namespace troupe
