// The element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

/// Type of every element of a tensor. The numbers are on the wire. Promotion goes up this list:
/// boolean, u8, i32, i64, f32, f64.
enum class DType : std::uint8_t { boolean = 1, u8 = 2, i32 = 3, i64 = 4, f32 = 5, f64 = 6 };

/// Returns the bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return 1;
    case DType::i32:
    case DType::f32: return 4;
    case DType::i64:
    case DType::f64: return 8;
  }
  return 0;
}

/// Returns "boolean", "u8", "i32", "i64", "f32" or "f64".
[[nodiscard]] std::string_view name_of(DType dtype) noexcept;

/// Returns the dtype called `name`. Throws DTypeError `[dtype] unknown name: f8`.
[[nodiscard]] DType parse_dtype(std::string_view name);

/// Whether `number` is that of a dtype; for numbers that come from outside.
[[nodiscard]] constexpr bool is_dtype(std::uint8_t number) noexcept { return number >= 1 && number <= 6; }

[[nodiscard]] constexpr bool is_floating(DType dtype) noexcept { return dtype == DType::f32 || dtype == DType::f64; }

/// Returns the dtype in which an operation on `a` and `b` is computed: the one further up the list.
[[nodiscard]] constexpr DType promote(DType a, DType b) noexcept { return a < b ? b : a; }

/// Returns `dtype` itself if floating, else f32: what exp, div, mean and their like compute in.
[[nodiscard]] constexpr DType promote_to_floating(DType dtype) noexcept {
  return is_floating(dtype) ? dtype : DType::f32;
}

/// A C++ type that is the element of some dtype.
template <class T>
concept Element = std::is_same_v<T, bool> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int32_t> ||
    std::is_same_v<T, std::int64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

namespace detail {
template <Element T>
constexpr DType dtype_for() noexcept {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
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
    case DType::i32: return std::forward<F>(f)(std::type_identity<std::int32_t>{});
    case DType::i64: return std::forward<F>(f)(std::type_identity<std::int64_t>{});
    case DType::f32: return std::forward<F>(f)(std::type_identity<float>{});
    case DType::f64: break;
  }
  return std::forward<F>(f)(std::type_identity<double>{});
}

/// As `dispatch` for f32 and f64 alone. Throws DTypeError `[op] needs a floating dtype: i64` otherwise.
template <class F>
decltype(auto) dispatch_floating(std::string_view op, DType dtype, F&& f) {
  if (dtype == DType::f32) return std::forward<F>(f)(std::type_identity<float>{});
  if (dtype == DType::f64) return std::forward<F>(f)(std::type_identity<double>{});
  detail::throw_not_floating(op, dtype);
}

}  // namespace troupe
