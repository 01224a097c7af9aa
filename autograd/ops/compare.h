// Elementwise comparisons of the values of variables, as in tensor/ops.h. The result is boolean and has no gradient.
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
