#include "tensor/kernels/elementwise.h"

#include <algorithm>
#include <cmath>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/elements.h"
#include "tensor/cpu/hyperbolic.h"
#include "tensor/cpu/reals.h"
#include "tensor/cpu/remainders.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::make_walk;
using kernels::Stretch;
using kernels::UnaryOp;
using kernels::Walk;

namespace {

// Integers need no rounding.
template <class T, class F>
T whole(T value, const F& rounded) {
  if constexpr (std::is_floating_point_v<T>) return rounded(value);
  return value;
}

/// The cost of a function of reals, in additions.
constexpr std::int64_t kFunctionCost = 8;

/// Calls f(out, x, count) for blocks of contiguous elements.
template <class T, class F>
void map_blocks(const Walk<2>& walk, T* out, const T* x, const F& f) {
  const auto [so, sx] = walk.row_strides();
  const auto row = [&, so = so, sx = sx](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    RealBlock<T> block;
    for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
      const std::int64_t size = std::min(kBlockElements, count - begin);
      T* const o = out + at[0] + begin * so;
      const T* a = x + at[1] + begin * sx;
      if (sx != 1) {
        for (std::int64_t i = 0; i < size; ++i) block.data()[i] = a[i * sx];
        a = block.data();
      }
      f(so == 1 ? o : block.data(), a, size);
      if (so == 1) continue;
      for (std::int64_t i = 0; i < size; ++i) o[i * so] = block.data()[i];
    }
  };
  for_each_row(walk, row, kFunctionCost);
}

/// The same for f(out, a, b, count).
template <class T, class F>
void map_blocks(const Walk<3>& walk, T* out, const T* a, const T* b, const F& f) {
  const auto [so, sa, sb] = walk.row_strides();
  const auto row = [&, so = so, sa = sa, sb = sb](const std::array<std::int64_t, 3>& at, std::int64_t count) {
    RealBlock<T> left;
    RealBlock<T> right;
    const auto gather = [](RealBlock<T>& block, const T* from, std::int64_t stride, std::int64_t size) -> const T* {
      if (stride == 1) return from;
      for (std::int64_t i = 0; i < size; ++i) block.data()[i] = from[i * stride];
      return block.data();
    };
    for (std::int64_t begin = 0; begin < count; begin += kBlockElements) {
      const std::int64_t size = std::min(kBlockElements, count - begin);
      T* const o = out + at[0] + begin * so;
      const T* const x = gather(left, a + at[1] + begin * sa, sa, size);
      const T* const y = gather(right, b + at[2] + begin * sb, sb, size);
      f(so == 1 ? o : left.data(), x, y, size);
      if (so == 1) continue;
      for (std::int64_t i = 0; i < size; ++i) o[i * so] = left.data()[i];
    }
  };
  for_each_row(walk, row, kFunctionCost);
}

template <class T>
void unary_real(UnaryOp op, const Walk<2>& walk, T* out, const T* x) {
  const RealFunctions<T>& f = real_functions<T>();
  switch (op) {
    case UnaryOp::exp: return map_blocks(walk, out, x, f.exp);
    case UnaryOp::expm1: return map_blocks(walk, out, x, f.expm1);
    case UnaryOp::exp2: return map_blocks(walk, out, x, f.exp2);
    case UnaryOp::log: return map_blocks(walk, out, x, f.log);
    case UnaryOp::log1p: return map_blocks(walk, out, x, log1p<T>);
    case UnaryOp::log2: return map_blocks(walk, out, x, f.log2);
    case UnaryOp::log10: return map_blocks(walk, out, x, f.log10);
    case UnaryOp::logit: return map_blocks(walk, out, x, logit<T>);
    case UnaryOp::sqrt: return map_rows(walk, out, x, [](T v) { return std::sqrt(v); });
    case UnaryOp::rsqrt: return map_rows(walk, out, x, [](T v) { return T{1} / std::sqrt(v); });
    case UnaryOp::sin: return map_blocks(walk, out, x, f.sin);
    case UnaryOp::cos: return map_blocks(walk, out, x, f.cos);
    case UnaryOp::tan: return map_blocks(walk, out, x, f.tan);
    case UnaryOp::asin: return map_blocks(walk, out, x, f.asin);
    case UnaryOp::acos: return map_blocks(walk, out, x, f.acos);
    case UnaryOp::atan: return map_blocks(walk, out, x, f.atan);
    case UnaryOp::sinh: return map_blocks(walk, out, x, sinh<T>);
    case UnaryOp::cosh: return map_blocks(walk, out, x, cosh<T>);
    case UnaryOp::tanh: return map_blocks(walk, out, x, f.tanh);
    case UnaryOp::asinh: return map_blocks(walk, out, x, asinh<T>);
    case UnaryOp::acosh: return map_blocks(walk, out, x, acosh<T>);
    case UnaryOp::atanh: return map_blocks(walk, out, x, f.atanh);
    case UnaryOp::erf: return map_blocks(walk, out, x, f.erf);
    case UnaryOp::erfc: return map_blocks(walk, out, x, f.erfc);
    case UnaryOp::sigmoid: return map_blocks(walk, out, x, sigmoid<T>);
    case UnaryOp::gelu: return map_blocks(walk, out, x, gelu<T>);
    case UnaryOp::gelu_tanh: return map_blocks(walk, out, x, gelu_tanh<T>);
    case UnaryOp::silu: return map_blocks(walk, out, x, silu<T>);
    case UnaryOp::mish: return map_blocks(walk, out, x, mish<T>);
    case UnaryOp::softplus: return map_blocks(walk, out, x, softplus<T>);
    default: return;
  }
}

/// out = the gradient `g` times the derivative at `x`.
template <class T>
void multiply_slope(const Walk<3>& walk, T* out, const T* g, const T* x, RealFunction<T> slope) {
  map_blocks(walk, out, g, x, [&](T* o, const T* gradient, const T* at, std::int64_t count) {
    RealBlock<T> factor;
    slope(factor.data(), at, count);
    vectorized_for(count, [=, &factor](std::int64_t i) { o[i] = gradient[i] * factor.data()[i]; });
  });
}

template <class T>
void binary_real(BinaryOp op, const Walk<3>& walk, T* out, const T* a, const T* b) {
  switch (op) {
    case BinaryOp::div: return map_rows(walk, out, a, b, [](T x, T y) { return x / y; });
    case BinaryOp::copysign: return map_rows(walk, out, a, b, [](T x, T y) { return std::copysign(x, y); });
    case BinaryOp::pow: return map_blocks(walk, out, a, b, real_functions<T>().pow);
    case BinaryOp::atan2: return map_blocks(walk, out, a, b, real_functions<T>().atan2);
    case BinaryOp::hypot: return map_blocks(walk, out, a, b, real_functions<T>().hypot);
    case BinaryOp::logaddexp: return map_blocks(walk, out, a, b, logaddexp<T>);
    case BinaryOp::xlogy: return map_blocks(walk, out, a, b, xlogy<T>);
    case BinaryOp::fmod: return map_blocks(walk, out, a, b, fmod<T>);
    case BinaryOp::remainder: return map_blocks(walk, out, a, b, remainder<T>);
    case BinaryOp::floor_divide: return map_blocks(walk, out, a, b, floor_divide<T>);
    case BinaryOp::relu_backward: return map_rows(walk, out, a, b, [](T g, T y) { return y <= T{0} ? T{0} : g; });
    case BinaryOp::tanh_backward: return map_rows(walk, out, a, b, [](T g, T y) { return g * (T{1} - y * y); });
    case BinaryOp::sigmoid_backward: return map_rows(walk, out, a, b, [](T g, T y) { return g * (y * (T{1} - y)); });
    case BinaryOp::gelu_backward: return multiply_slope(walk, out, a, b, gelu_slope<T>);
    case BinaryOp::gelu_tanh_backward: return multiply_slope(walk, out, a, b, gelu_tanh_slope<T>);
    case BinaryOp::silu_backward: return multiply_slope(walk, out, a, b, silu_slope<T>);
    case BinaryOp::mish_backward: return multiply_slope(walk, out, a, b, mish_slope<T>);
    case BinaryOp::softplus_backward: return multiply_slope(walk, out, a, b, sigmoid<T>);
    default: return;
  }
}

template <class T>
void binary_whole(BinaryOp op, const Walk<3>& walk, T* out, const T* a, const T* b) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr T kPlaces = static_cast<T>(sizeof(T) * 8);
  switch (op) {
    case BinaryOp::fmod: return map_rows(walk, out, a, b, whole_fmod<T>);
    case BinaryOp::remainder: return map_rows(walk, out, a, b, whole_remainder<T>);
    case BinaryOp::floor_divide: return map_rows(walk, out, a, b, whole_floor_divide<T>);
    case BinaryOp::bit_and: return map_rows(walk, out, a, b, [](T x, T y) { return x & y; });
    case BinaryOp::bit_or: return map_rows(walk, out, a, b, [](T x, T y) { return x | y; });
    case BinaryOp::bit_xor: return map_rows(walk, out, a, b, [](T x, T y) { return x ^ y; });
    // A shift outside [0, width) gives 0 to the left, and leaves only the sign to the right.
    case BinaryOp::left_shift:
      return map_rows(walk, out, a, b, [](T x, T y) {
        return y < 0 || y >= kPlaces ? T{0} : static_cast<T>(static_cast<Unsigned>(x) << y);
      });
    case BinaryOp::right_shift:
      return map_rows(walk, out, a, b, [](T x, T y) { return x >> (y < 0 || y >= kPlaces ? kPlaces - 1 : y); });
    default: return;
  }
}

template <class T>
void unary_number(UnaryOp op, const Walk<2>& walk, T* out, const T* x) {
  const auto minus = [](auto p, auto q) { return p - q; };
  switch (op) {
    case UnaryOp::neg:
      if constexpr (std::is_floating_point_v<T>) return map_rows(walk, out, x, [](T v) { return -v; });
      return map_rows(walk, out, x, [&](T v) { return wrapping(T{0}, v, minus); });
    case UnaryOp::abs:
      if constexpr (std::is_floating_point_v<T>) return map_rows(walk, out, x, [](T v) { return std::abs(v); });
      return map_rows(walk, out, x, [&](T v) { return v < T{0} ? wrapping(T{0}, v, minus) : v; });
    case UnaryOp::sign: return map_rows(walk, out, x, [](T v) { return static_cast<T>((v > T{0}) - (v < T{0})); });
    case UnaryOp::floor:
      return map_rows(walk, out, x, [](T v) { return whole(v, [](auto r) { return std::floor(r); }); });
    case UnaryOp::ceil:
      return map_rows(walk, out, x, [](T v) { return whole(v, [](auto r) { return std::ceil(r); }); });
    case UnaryOp::round:
      return map_rows(walk, out, x, [](T v) { return whole(v, [](auto r) { return std::nearbyint(r); }); });
    case UnaryOp::trunc:
      return map_rows(walk, out, x, [](T v) { return whole(v, [](auto r) { return std::trunc(r); }); });
    // NaN compares false, so it passes through.
    case UnaryOp::relu: return map_rows(walk, out, x, [](T v) { return v <= T{0} ? T{0} : v; });
    default:
      if constexpr (std::is_floating_point_v<T>) unary_real(op, walk, out, x);
  }
}

template <class T>
void binary_number(BinaryOp op, const Walk<3>& walk, T* out, const T* a, const T* b) {
  switch (op) {
    case BinaryOp::add: return map_rows(walk, out, a, b, [](T x, T y) { return wrapping_sum(x, y); });
    case BinaryOp::sub:
      return map_rows(walk, out, a, b, [](T x, T y) { return wrapping(x, y, [](auto v, auto w) { return v - w; }); });
    case BinaryOp::mul:
      return map_rows(walk, out, a, b, [](T x, T y) { return wrapping(x, y, [](auto v, auto w) { return v * w; }); });
    // `x != x` holds only for NaN.
    case BinaryOp::maximum: return map_rows(walk, out, a, b, [](T x, T y) { return x > y || x != x ? x : y; });
    case BinaryOp::minimum: return map_rows(walk, out, a, b, [](T x, T y) { return x < y || x != x ? x : y; });
    default:
      if constexpr (std::is_floating_point_v<T>) binary_real(op, walk, out, a, b);
      else binary_whole(op, walk, out, a, b);
  }
}

template <class T>
void compare_numbers(CompareOp op, const Walk<3>& walk, bool* out, const T* a, const T* b) {
  switch (op) {
    case CompareOp::eq: return map_rows(walk, out, a, b, [](T x, T y) { return x == y; });
    case CompareOp::ne: return map_rows(walk, out, a, b, [](T x, T y) { return x != y; });
    case CompareOp::lt: return map_rows(walk, out, a, b, [](T x, T y) { return x < y; });
    case CompareOp::le: return map_rows(walk, out, a, b, [](T x, T y) { return x <= y; });
  }
}

template <class T>
T* as(std::byte* data) {
  return reinterpret_cast<T*>(data);
}

using Data2 = std::array<std::byte*, 2>;
using Data3 = std::array<std::byte*, 3>;

void unary(UnaryOp op, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &x.strides()});
  const Operand to = computed_into(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_block<2>(walk, {to, computed(x)}, [op](const Walk<2>& part, const Data2& data) {
      unary_number<T>(op, part, as<T>(data[0]), as<T>(data[1]));
    });
  });
}

void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  const Operand to = computed_into(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_block<3>(walk, {to, computed(a), computed(b)}, [op](const Walk<3>& part, const Data3& data) {
      binary_number<T>(op, part, as<T>(data[0]), as<T>(data[1]), as<T>(data[2]));
    });
  });
}

// Computes op with `number` as operand `side`; `x` is the other operand.
void binary_with_number(BinaryOp op, Tensor& out, const Tensor& x, double number, std::size_t side) {
  if (out.numel() == 0) return;
  Strides same;
  for (int i = 0; i < out.dim(); ++i) same.push_back(0);
  const Strides* const left = side == 1 ? &same : &x.strides();
  const Strides* const right = side == 1 ? &x.strides() : &same;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), left, right});
  const Operand to = computed_into(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    auto value = static_cast<T>(number);
    const Operand one{reinterpret_cast<std::byte*>(&value), dtype_of<T>, dtype_of<T>};
    const Operand many = computed(x);
    for_each_block<3>(walk, {to, side == 1 ? one : many, side == 1 ? many : one},
                      [op](const Walk<3>& part, const Data3& data) {
                        binary_number<T>(op, part, as<T>(data[0]), as<T>(data[1]), as<T>(data[2]));
                      });
  });
}

void binary(BinaryOp op, Tensor& out, const Tensor& a, double b) { binary_with_number(op, out, a, b, 2); }
void binary(BinaryOp op, Tensor& out, double a, const Tensor& b) { binary_with_number(op, out, b, a, 1); }

void binary(BinaryOp op, DType dtype, std::byte* out, const Stretch& a, const Stretch& b, std::int64_t count) {
  Walk<3> walk;
  walk.numel = walk.sizes[0] = count;
  walk.strides[0] = {1, a.stride, b.stride};
  dispatch_compute(dtype, [&]<class T>(std::type_identity<T>) {
    binary_number<T>(op, walk, reinterpret_cast<T*>(out), reinterpret_cast<const T*>(a.data),
                     reinterpret_cast<const T*>(b.data));
  });
}

void compare(CompareOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  const Operand to{out.mutable_bytes(), DType::boolean, DType::boolean};
  dispatch_compute(a.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_block<3>(walk, {to, computed(a), computed(b)}, [op](const Walk<3>& part, const Data3& data) {
      compare_numbers<T>(op, part, as<bool>(data[0]), as<T>(data[1]), as<T>(data[2]));
    });
  });
}

void select(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = make_walk<4>(out.shape(), {&out.strides(), &condition.strides(), &a.strides(), &b.strides()});
  dispatch_opaque(out.dtype(), [&]<class T>(std::type_identity<T>) {
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
  const Operand to = computed_into(out);
  dispatch_floating("axpby", out.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_block<3>(walk, {to, computed(a), computed(b)}, [=](const Walk<3>& part, const Data3& data) {
      map_rows(part, as<T>(data[0]), as<const T>(data[1]), as<const T>(data[2]),
               [p = static_cast<T>(alpha), q = static_cast<T>(beta)](T x, T y) { return p * x + q * y; });
    });
  });
}

}  // namespace

const kernels::UnaryKernels unary_kernels{.unary = unary};
const kernels::BinaryKernels binary_kernels{
    .binary_tensors = binary, .binary_number_right = binary, .binary_number_left = binary};
const kernels::StretchKernels stretch_kernels{.binary = binary};
const kernels::SelectKernels select_kernels{.compare = compare, .select = select, .axpby = axpby};

}  // namespace troupe::cpu
