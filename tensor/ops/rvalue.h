// Elementwise operations that reuse the memory of operands the caller gives up: `std::move(x) + y`, `relu(a * b)`.
//
// Results equal those of the overloads without `&&`. An operation writes into the operand if that has the shape and
// dtype of the result and is the only handle of its memory. Arithmetic on such a tensor of kDeferBytes or more is
// deferred until the next access to the result; a chain of deferred operations processes one cache-sized stretch of
// elements after the other (deferred_ops.h). An operand of which a span was given out (Tensor::data) is computed at
// once: the holder of the span may write at any time. Afterwards the operand given up is undefined or unchanged.
#pragma once

#include "tensor/tensor.h"

namespace troupe {

[[nodiscard]] Tensor add(Tensor&& a, const Tensor& b);
[[nodiscard]] Tensor add(const Tensor& a, Tensor&& b);
[[nodiscard]] Tensor add(Tensor&& a, Tensor&& b);
[[nodiscard]] Tensor add(Tensor&& a, double b);
[[nodiscard]] Tensor sub(Tensor&& a, const Tensor& b);
[[nodiscard]] Tensor sub(const Tensor& a, Tensor&& b);
[[nodiscard]] Tensor sub(Tensor&& a, Tensor&& b);
[[nodiscard]] Tensor sub(Tensor&& a, double b);
[[nodiscard]] Tensor sub(double a, Tensor&& b);
[[nodiscard]] Tensor mul(Tensor&& a, const Tensor& b);
[[nodiscard]] Tensor mul(const Tensor& a, Tensor&& b);
[[nodiscard]] Tensor mul(Tensor&& a, Tensor&& b);
[[nodiscard]] Tensor mul(Tensor&& a, double b);
[[nodiscard]] Tensor div(Tensor&& a, const Tensor& b);
[[nodiscard]] Tensor div(const Tensor& a, Tensor&& b);
[[nodiscard]] Tensor div(Tensor&& a, Tensor&& b);
[[nodiscard]] Tensor div(Tensor&& a, double b);
[[nodiscard]] Tensor div(double a, Tensor&& b);

[[nodiscard]] Tensor neg(Tensor&& x);
[[nodiscard]] Tensor abs(Tensor&& x);
[[nodiscard]] Tensor exp(Tensor&& x);
[[nodiscard]] Tensor log(Tensor&& x);
[[nodiscard]] Tensor sqrt(Tensor&& x);
[[nodiscard]] Tensor rsqrt(Tensor&& x);
[[nodiscard]] Tensor tanh(Tensor&& x);
[[nodiscard]] Tensor sigmoid(Tensor&& x);
[[nodiscard]] Tensor relu(Tensor&& x);
[[nodiscard]] Tensor silu(Tensor&& x);

inline Tensor operator+(Tensor&& a, const Tensor& b) { return add(std::move(a), b); }
inline Tensor operator+(const Tensor& a, Tensor&& b) { return add(a, std::move(b)); }
inline Tensor operator+(Tensor&& a, Tensor&& b) { return add(std::move(a), std::move(b)); }
inline Tensor operator+(Tensor&& a, double b) { return add(std::move(a), b); }
inline Tensor operator+(double a, Tensor&& b) { return add(std::move(b), a); }
inline Tensor operator-(Tensor&& a, const Tensor& b) { return sub(std::move(a), b); }
inline Tensor operator-(const Tensor& a, Tensor&& b) { return sub(a, std::move(b)); }
inline Tensor operator-(Tensor&& a, Tensor&& b) { return sub(std::move(a), std::move(b)); }
inline Tensor operator-(Tensor&& a, double b) { return sub(std::move(a), b); }
inline Tensor operator-(double a, Tensor&& b) { return sub(a, std::move(b)); }
inline Tensor operator*(Tensor&& a, const Tensor& b) { return mul(std::move(a), b); }
inline Tensor operator*(const Tensor& a, Tensor&& b) { return mul(a, std::move(b)); }
inline Tensor operator*(Tensor&& a, Tensor&& b) { return mul(std::move(a), std::move(b)); }
inline Tensor operator*(Tensor&& a, double b) { return mul(std::move(a), b); }
inline Tensor operator*(double a, Tensor&& b) { return mul(std::move(b), a); }
inline Tensor operator/(Tensor&& a, const Tensor& b) { return div(std::move(a), b); }
inline Tensor operator/(const Tensor& a, Tensor&& b) { return div(a, std::move(b)); }
inline Tensor operator/(Tensor&& a, Tensor&& b) { return div(std::move(a), std::move(b)); }
inline Tensor operator/(Tensor&& a, double b) { return div(std::move(a), b); }
inline Tensor operator/(double a, Tensor&& b) { return div(a, std::move(b)); }
inline Tensor operator-(Tensor&& x) { return neg(std::move(x)); }

}  // namespace troupe
