// Fields of structs that do not name them: what an aggregate consists of, in the order of declaration. They have no
// names on the wire and in the schema: two fields of one type that change places between two builds go unnoticed.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace troupe {

template <class T>
struct WireFormat;

namespace detail {

inline constexpr std::size_t kPlainFieldsMax = 16;

/// Converts to base classes of T only.
template <class T>
struct AnyBase {
  template <class U>
    requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
  operator U() const noexcept;
};

/// How many fields of T can be initialised with `{}`; kPlainFieldsMax + 1 if there are more than kPlainFieldsMax.
template <class T>
consteval std::size_t plain_field_count() {
  if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 17;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 16;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 15;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 14;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 13;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 12;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 11;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 10;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}, {}}; }) return 9;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}, {}}; }) return 8;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}, {}}; }) return 7;
  else if constexpr (requires { T{{}, {}, {}, {}, {}, {}}; }) return 6;
  else if constexpr (requires { T{{}, {}, {}, {}, {}}; }) return 5;
  else if constexpr (requires { T{{}, {}, {}, {}}; }) return 4;
  else if constexpr (requires { T{{}, {}, {}}; }) return 3;
  else if constexpr (requires { T{{}, {}}; }) return 2;
  else if constexpr (requires { T{{}}; }) return 1;
  else return 0;
}

/// Returns `function(fields...)` for the fields of `value`, which has 1 to kPlainFieldsMax of them.
template <class T, class F>
decltype(auto) with_plain_fields(T& value, F&& function) {
  constexpr std::size_t count = plain_field_count<std::remove_const_t<T>>();
  if constexpr (count == 1) {
    auto& [a] = value;
    return function(a);
  }
  if constexpr (count == 2) {
    auto& [a, b] = value;
    return function(a, b);
  }
  if constexpr (count == 3) {
    auto& [a, b, c] = value;
    return function(a, b, c);
  }
  if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    return function(a, b, c, d);
  }
  if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    return function(a, b, c, d, e);
  }
  if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    return function(a, b, c, d, e, f);
  }
  if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return function(a, b, c, d, e, f, g);
  }
  if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return function(a, b, c, d, e, f, g, h);
  }
  if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return function(a, b, c, d, e, f, g, h, i);
  }
  if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return function(a, b, c, d, e, f, g, h, i, j);
  }
  if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k);
  }
  if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  if constexpr (count == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  if constexpr (count == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
  if constexpr (count == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return function(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
}

/// A field that can be read back: it travels, and it can be assigned to.
template <class... Fields>
using AllTravel = std::bool_constant<((!std::is_const_v<Fields> && WireFormat<Fields>::kTravels) && ...)>;

/// An aggregate of 1 to 16 fields that travel, without base classes, pointers and references. It travels field by
/// field. One that contains itself, in a container, needs a `serialize`.
template <class T>
concept PlainStruct =
    std::is_aggregate_v<T> && std::is_default_constructible_v<T> && !std::is_empty_v<T> && !std::is_union_v<T> &&
    !requires { T{AnyBase<T>{}}; } && (plain_field_count<T>() >= 1 && plain_field_count<T>() <= kPlainFieldsMax) &&
    decltype(with_plain_fields(std::declval<T&>(),
                               []<class... Fields>(Fields&...) { return AllTravel<Fields...>{}; }))::value;

}  // namespace detail
}  // namespace troupe
