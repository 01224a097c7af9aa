// The element types of tensors.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensor/float16.h"

namespace troupe {

/// Type of every element of a tensor. The numeric values are part of the wire format; their order means nothing.
enum class DType : std::uint8_t {
  boolean = 1,
  u8 = 2,
  i32 = 3,
  i64 = 4,
  f32 = 5,
  f64 = 6,
  i8 = 7,
  i16 = 8,
  f16 = 9,    ///< Half
  bf16 = 10,  ///< BFloat16
};

/// Returns the size of one element in bytes.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::i8: return 1;
    case DType::i16:
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i32:
    case DType::f32: return 4;
    case DType::i64:
    case DType::f64: return 8;
  }
  return 0;
}

/// Returns "boolean", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32" or "f64".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;
/// Writes its name.
std::ostream& operator<<(std::ostream& out, DType dtype);

/// Returns the dtype called `name`. Throws DTypeError `[dtype] unknown name: f8`.
[[nodiscard]] DType parse_dtype(std::string_view name);

/// Returns whether `number` is the value of a DType. For numbers from the network or a file.
[[nodiscard]] constexpr bool is_dtype(std::uint8_t number) noexcept { return number >= 1 && number <= 10; }

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

/// Returns the dtype of the result of an operation on `a` and `b`: the first dtype that both reach along the arrows.
/// It may lose precision: i64 with f16 gives f16. Follows PyTorch's rule for tensors that have dimensions;
/// tensor/ops/promotion.h states the rule for 0-dimensional tensors and numbers.
///
///     boolean --> u8 ------> i16 --> i32 --> i64 --> f16 ----> f32 --> f64
///            \--> i8 ----/                      \--> bf16 --/
[[nodiscard]] constexpr DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) < size_of(b) ? b : a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return is_floating(a) ? DType::f32 : DType::i16;
}

/// Returns `dtype` if it is floating, else f32: the result dtype of exp, div, mean and similar functions.
[[nodiscard]] constexpr DType promote_to_floating(DType dtype) noexcept {
  return is_floating(dtype) ? dtype : DType::f32;
}

/// Returns the dtype in which operations on `dtype` are computed: f32 for f16 and bf16, i32 for boolean, u8, i8 and
/// i16, else `dtype` itself. The result is converted back once, at the end: floats are rounded, integers wrap.
[[nodiscard]] constexpr DType compute_dtype(DType dtype) noexcept {
  if (size_of(dtype) >= 4) return dtype;
  return is_floating(dtype) ? DType::f32 : DType::i32;
}

namespace detail {
template <class T, class... Others>
concept OneOf = (std::same_as<T, Others> || ...);
}  // namespace detail

/// A C++ type that is the element type of some dtype.
template <class T>
concept Element = detail::OneOf<T, bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t, Half,
                                BFloat16, float, double>;

namespace detail {
template <Element T>
constexpr DType dtype_for() noexcept {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, Half>) return DType::f16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
}
[[noreturn]] void throw_not_floating(std::string_view op, DType dtype);
}  // namespace detail

/// The dtype whose elements are `T`: `dtype_of<float>` is f32.
template <Element T>
inline constexpr DType dtype_of = detail::dtype_for<T>();

/// Calls `f(std::type_identity<T>{})` with the element type of `dtype` and returns its result.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return std::forward<F>(f)(std::type_identity<bool>{});
    case DType::u8: return std::forward<F>(f)(std::type_identity<std::uint8_t>{});
    case DType::i8: return std::forward<F>(f)(std::type_identity<std::int8_t>{});
    case DType::i16: return std::forward<F>(f)(std::type_identity<std::int16_t>{});
    case DType::i32: return std::forward<F>(f)(std::type_identity<std::int32_t>{});
    case DType::i64: return std::forward<F>(f)(std::type_identity<std::int64_t>{});
    case DType::f16: return std::forward<F>(f)(std::type_identity<Half>{});
    case DType::bf16: return std::forward<F>(f)(std::type_identity<BFloat16>{});
    case DType::f32: return std::forward<F>(f)(std::type_identity<float>{});
    case DType::f64: break;
  }
  return std::forward<F>(f)(std::type_identity<double>{});
}

/// As `dispatch(compute_dtype(dtype), f)`: the type is std::int32_t, std::int64_t, float or double.
template <class F>
decltype(auto) dispatch_compute(DType dtype, F&& f) {
  switch (compute_dtype(dtype)) {
    case DType::i32: return std::forward<F>(f)(std::type_identity<std::int32_t>{});
    case DType::i64: return std::forward<F>(f)(std::type_identity<std::int64_t>{});
    case DType::f32: return std::forward<F>(f)(std::type_identity<float>{});
    default: return std::forward<F>(f)(std::type_identity<double>{});
  }
}

/// As `dispatch_compute`, with float or double only.
/// Throws DTypeError `[op] needs a floating dtype: i64` if `dtype` is not floating.
template <class F>
decltype(auto) dispatch_floating(std::string_view op, DType dtype, F&& f) {
  if (!is_floating(dtype)) detail::throw_not_floating(op, dtype);
  if (dtype == DType::f64) return std::forward<F>(f)(std::type_identity<double>{});
  return std::forward<F>(f)(std::type_identity<float>{});
}

}  // namespace troupe
