// Comparisons of the values of variables, and questions about them, as in tensor/ops.h. Results have no gradient.
// same(a, b) tells whether two handles are one variable.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops.h"

namespace troupe {

[[nodiscard]] inline Tensor eq(const Variable& a, const Variable& b) { return eq(a.value(), b.value()); }
[[nodiscard]] inline Tensor eq(const Variable& a, double b) { return eq(a.value(), b); }
[[nodiscard]] inline Tensor ne(const Variable& a, const Variable& b) { return ne(a.value(), b.value()); }
[[nodiscard]] inline Tensor ne(const Variable& a, double b) { return ne(a.value(), b); }
[[nodiscard]] inline Tensor lt(const Variable& a, const Variable& b) { return lt(a.value(), b.value()); }
[[nodiscard]] inline Tensor lt(const Variable& a, double b) { return lt(a.value(), b); }
[[nodiscard]] inline Tensor le(const Variable& a, const Variable& b) { return le(a.value(), b.value()); }
[[nodiscard]] inline Tensor le(const Variable& a, double b) { return le(a.value(), b); }
[[nodiscard]] inline Tensor gt(const Variable& a, const Variable& b) { return gt(a.value(), b.value()); }
[[nodiscard]] inline Tensor gt(const Variable& a, double b) { return gt(a.value(), b); }
[[nodiscard]] inline Tensor ge(const Variable& a, const Variable& b) { return ge(a.value(), b.value()); }
[[nodiscard]] inline Tensor ge(const Variable& a, double b) { return ge(a.value(), b); }

[[nodiscard]] inline Tensor isclose(const Variable& a, const Variable& b, double rtol = 1e-5, double atol = 1e-8) {
  return isclose(a.value(), b.value(), rtol, atol);
}
[[nodiscard]] inline bool allclose(const Variable& a, const Variable& b, double rtol = 1e-5, double atol = 1e-8) {
  return allclose(a.value(), b.value(), rtol, atol);
}

[[nodiscard]] inline Tensor argmax(const Variable& x) { return argmax(x.value()); }
[[nodiscard]] inline Tensor argmax(const Variable& x, int dim, KeepDim keep = KeepDim::no) {
  return argmax(x.value(), dim, keep);
}
[[nodiscard]] inline Tensor argmin(const Variable& x) { return argmin(x.value()); }
[[nodiscard]] inline Tensor argmin(const Variable& x, int dim, KeepDim keep = KeepDim::no) {
  return argmin(x.value(), dim, keep);
}
[[nodiscard]] inline Tensor isnan(const Variable& x) { return isnan(x.value()); }
[[nodiscard]] inline Tensor isinf(const Variable& x) { return isinf(x.value()); }
[[nodiscard]] inline Tensor isfinite(const Variable& x) { return isfinite(x.value()); }

inline Tensor operator==(const Variable& a, const Variable& b) { return eq(a, b); }
inline Tensor operator==(const Variable& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Variable& a, const Variable& b) { return ne(a, b); }
inline Tensor operator!=(const Variable& a, double b) { return ne(a, b); }
inline Tensor operator<(const Variable& a, const Variable& b) { return lt(a, b); }
inline Tensor operator<(const Variable& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Variable& a, const Variable& b) { return le(a, b); }
inline Tensor operator<=(const Variable& a, double b) { return le(a, b); }
inline Tensor operator>(const Variable& a, const Variable& b) { return gt(a, b); }
inline Tensor operator>(const Variable& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Variable& a, const Variable& b) { return ge(a, b); }
inline Tensor operator>=(const Variable& a, double b) { return ge(a, b); }

}  // namespace troupe
