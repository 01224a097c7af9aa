// How formulas of several steps on f16 and bf16 compute in f32 and round once. X is Tensor or Variable.
#pragma once

#include <type_traits>

#include "tensor/dtype.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Returns whether operations on `dtype` compute in another floating dtype: f16 and bf16.
[[nodiscard]] constexpr bool is_short(DType dtype) noexcept {
  return is_floating(dtype) && compute_dtype(dtype) != dtype;
}

template <class X>
X in_dtype(const X& x, DType dtype) {
  if constexpr (std::is_same_v<X, Tensor>) return x.to(dtype);
  else return x.dtype() == dtype ? x : cast(x, dtype);
}

/// Returns `x` in f32 if it is f16 or bf16, else `x`.
template <class X>
X wide(const X& x) {
  return is_short(x.dtype()) ? in_dtype(x, compute_dtype(x.dtype())) : x;
}

/// Returns the result `x` of a formula on wide() operands in `dtype`, if that is f16 or bf16; else `x`. REQUIRES:
/// `dtype` is the dtype that the operands promote each other to.
template <class X>
X rounded(const X& x, DType dtype) {
  return is_short(dtype) ? in_dtype(x, dtype) : x;
}

}  // namespace troupe::detail
