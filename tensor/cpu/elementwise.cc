#include "tensor/cpu/elementwise.h"

#include <cmath>
#include <limits>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/loops.h"

namespace troupe::cpu {
namespace {

template <class To, class From>
To convert_value(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // 2^(bits) as a From: the first value above the range.
    constexpr auto kHigh = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);
    if (value >= kHigh) return std::numeric_limits<To>::max();
    if (value >= static_cast<From>(std::numeric_limits<To>::min())) return static_cast<To>(value);
    return value < From{0} ? std::numeric_limits<To>::min() : To{0};
  } else {
    return static_cast<To>(value);
  }
}

// Integer arithmetic wraps around: computed without sign, where that is defined.
template <class T, class F>
T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  }
}

// Calls `f` with the element type if it is a number, or only if it is real.
template <class F>
void for_numbers(DType dtype, const F& f) {
  dispatch(dtype, [&]<class T>(std::type_identity<T> type) {
    if constexpr (!std::is_same_v<T, bool>) f(type);
  });
}

template <class T>
T sigmoid_value(T x) {
  // exp of a negative number only: no overflow at either end.
  const T e = std::exp(-std::abs(x));
  return x >= T{0} ? T{1} / (T{1} + e) : e / (T{1} + e);
}

template <class T>
void unary_real(UnaryOp op, const Walk<2>& walk, T* out, const T* x) {
  switch (op) {
    case UnaryOp::exp: return map_rows(walk, out, x, [](T v) { return std::exp(v); });
    case UnaryOp::log: return map_rows(walk, out, x, [](T v) { return std::log(v); });
    case UnaryOp::sqrt: return map_rows(walk, out, x, [](T v) { return std::sqrt(v); });
    case UnaryOp::tanh: return map_rows(walk, out, x, [](T v) { return std::tanh(v); });
    case UnaryOp::sigmoid: return map_rows(walk, out, x, [](T v) { return sigmoid_value(v); });
    default: return;
  }
}

template <class T>
void binary_real(BinaryOp op, const Walk<3>& walk, T* out, const T* a, const T* b) {
  switch (op) {
    case BinaryOp::div: return map_rows(walk, out, a, b, [](T x, T y) { return x / y; });
    case BinaryOp::pow: return map_rows(walk, out, a, b, [](T x, T y) { return std::pow(x, y); });
    case BinaryOp::relu_backward: return map_rows(walk, out, a, b, [](T g, T y) { return y > T{0} ? g : T{0}; });
    default: return;
  }
}

}  // namespace

void convert(Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &x.strides()});
  dispatch(out.dtype(), [&]<class To>(std::type_identity<To>) {
    To* const o = mutable_elements<To>(out);
    dispatch(x.dtype(), [&]<class From>(std::type_identity<From>) {
      map_rows(walk, o, elements<From>(x), [](From v) { return convert_value<To>(v); });
    });
  });
}

void unary(UnaryOp op, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &x.strides()});
  for_numbers(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const o = mutable_elements<T>(out);
    const T* const a = elements<T>(x);
    const auto minus = [](auto p, auto q) { return p - q; };
    switch (op) {
      case UnaryOp::neg:
        if constexpr (std::is_floating_point_v<T>) return map_rows(walk, o, a, [](T v) { return -v; });
        return map_rows(walk, o, a, [&](T v) { return wrapping(T{0}, v, minus); });
      case UnaryOp::abs:
        if constexpr (std::is_floating_point_v<T>) return map_rows(walk, o, a, [](T v) { return std::abs(v); });
        return map_rows(walk, o, a, [&](T v) { return v < T{0} ? wrapping(T{0}, v, minus) : v; });
      // Written so that NaN, which compares false, passes through.
      case UnaryOp::relu: return map_rows(walk, o, a, [](T v) { return v <= T{0} ? T{0} : v; });
      default:
        if constexpr (std::is_floating_point_v<T>) unary_real(op, walk, o, a);
    }
  });
}

void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  for_numbers(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const o = mutable_elements<T>(out);
    const T* const x = elements<T>(a);
    const T* const y = elements<T>(b);
    switch (op) {
      case BinaryOp::add:
        return map_rows(walk, o, x, y, [](T p, T q) { return wrapping(p, q, [](auto v, auto w) { return v + w; }); });
      case BinaryOp::sub:
        return map_rows(walk, o, x, y, [](T p, T q) { return wrapping(p, q, [](auto v, auto w) { return v - w; }); });
      case BinaryOp::mul:
        return map_rows(walk, o, x, y, [](T p, T q) { return wrapping(p, q, [](auto v, auto w) { return v * w; }); });
      // `p != p` holds for NaN only.
      case BinaryOp::maximum: return map_rows(walk, o, x, y, [](T p, T q) { return p > q || p != p ? p : q; });
      case BinaryOp::minimum: return map_rows(walk, o, x, y, [](T p, T q) { return p < q || p != p ? p : q; });
      default:
        if constexpr (std::is_floating_point_v<T>) binary_real(op, walk, o, x, y);
    }
  });
}

void compare(CompareOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  bool* const o = mutable_elements<bool>(out);
  dispatch(a.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const x = elements<T>(a);
    const T* const y = elements<T>(b);
    switch (op) {
      case CompareOp::eq: return map_rows(walk, o, x, y, [](T p, T q) { return p == q; });
      case CompareOp::ne: return map_rows(walk, o, x, y, [](T p, T q) { return p != q; });
      case CompareOp::lt: return map_rows(walk, o, x, y, [](T p, T q) { return p < q; });
      case CompareOp::le: return map_rows(walk, o, x, y, [](T p, T q) { return p <= q; });
    }
  });
}

void select(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<4>(out.shape(), {&out.strides(), &condition.strides(), &a.strides(), &b.strides()});
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const o = mutable_elements<T>(out);
    const bool* const c = elements<bool>(condition);
    const T* const x = elements<T>(a);
    const T* const y = elements<T>(b);
    const auto& s = walk.row_strides();
    for_each_row(walk, [&](const std::array<std::int64_t, 4>& at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        o[at[0] + i * s[0]] = c[at[1] + i * s[1]] ? x[at[2] + i * s[2]] : y[at[3] + i * s[3]];
      }
    });
  });
}

void axpby(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  dispatch_floating("axpby", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const o = mutable_elements<T>(out);
    map_rows(walk, o, elements<T>(a), elements<T>(b),
             [p = static_cast<T>(alpha), q = static_cast<T>(beta)](T x, T y) { return p * x + q * y; });
  });
}

}  // namespace troupe::cpu
