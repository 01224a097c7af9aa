// What a callable is at compile time: its wire parameters, its result, and the key under which a registry finds it.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>

#include "messages/error.h"

namespace troupe {

class Scope;
template <class T>
class Future;
template <class T>
class Task;

namespace detail {

/// The type that the caller of a function receives. For a function that returns a Future<T>, or is a coroutine Task<T>,
/// it is T: the callee answers when the T exists and holds no thread until then.
template <class R>
struct Awaited {
  using Type = R;
  static constexpr bool is_later = false;
};
template <class T>
struct Awaited<Future<T>> {
  using Type = T;
  static constexpr bool is_later = true;
};
template <class T>
struct Awaited<Task<T>> : Awaited<Future<T>> {};

/// Returns whether a callback of a future takes its value.
template <class Callback, class T>
[[nodiscard]] constexpr bool takes_value() {
  if constexpr (std::is_void_v<T>) return std::is_invocable_v<Callback>;
  else return std::is_invocable_v<Callback, T>;
}

/// True for a parameter that can travel. The callee receives its own copy, so a reference parameter must be const or
/// rvalue.
template <class P>
inline constexpr bool is_wire_parameter =
    !std::is_pointer_v<std::decay_t<P>> &&
    (!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>);

template <class R, class Self, class... P>
struct SignatureOf {
  using Returned = std::decay_t<R>;
  using Result = typename Awaited<Returned>::Type;
  using Object = Self;  ///< class of a member function, void otherwise
  static constexpr bool is_later = Awaited<Returned>::is_later;
  static constexpr bool takes_scope = false;
  static constexpr bool changes_object = false;  ///< a member function that is not const
  using Wire = std::tuple<std::decay_t<P>...>;
  static constexpr std::size_t arity = sizeof...(P);
  static_assert((is_wire_parameter<P> && ...),
                "a served function's parameters travel by value: take them by value or const reference, no pointers");
};

/// A function whose first parameter is a Scope receives the scope in which it is served; the caller does not pass it.
template <class R, class Self, class... P>
struct SignatureOf<R, Self, Scope&, P...> : SignatureOf<R, Self, P...> {
  static constexpr bool takes_scope = true;
};

template <class F>
struct Signature : SignatureOf<void, void> {
  static_assert(std::is_void_v<F>,
                "not a function: calls take functions, member functions, operations, and lambdas that capture nothing");
};

/// What F is where the argument names several functions, so that none is deduced. That is an error at once, not a
/// candidate that drops out: a class that adds functions of the same names for such arguments does not compile.
struct OneOfSeveral {};
template <class F>
  requires std::is_same_v<F, OneOfSeveral>
struct Signature<F> : SignatureOf<void, void> {
  static_assert(!std::is_same_v<F, OneOfSeveral>,
                "this name stands for several functions: choose one by its type, overload<int(double)>(&f), or "
                "overload<int(double) const>(&T::f) of a class");
};

template <class F>
  requires requires { &F::operator(); }
struct Signature<F> : Signature<decltype(&F::operator())> {
  static_assert(std::is_empty_v<F>,
                "a lambda that captures cannot be called by name on another node: pass what it needs as arguments");
  using Object = void;
};

#define TROUPE_SIGNATURE(QUALIFIERS, CHANGES)                             \
  template <class R, class C, class... P>                                 \
  struct Signature<R (C::*)(P...) QUALIFIERS> : SignatureOf<R, C, P...> { \
    static constexpr bool changes_object = CHANGES;                       \
  };
template <class R, class... P>
struct Signature<R (*)(P...)> : SignatureOf<R, void, P...> {};
template <class R, class... P>
struct Signature<R (*)(P...) noexcept> : SignatureOf<R, void, P...> {};
TROUPE_SIGNATURE(, true)
TROUPE_SIGNATURE(const, false)
TROUPE_SIGNATURE(noexcept, true)
TROUPE_SIGNATURE(const noexcept, false)
#undef TROUPE_SIGNATURE

/// Splits a list of parameters into the first one, which is the value if a function runs on a reference's value, and
/// the rest.
template <class Wire>
struct AfterFirst {
  using First = void;
  using Rest = std::tuple<>;
};
template <class P, class... Ps>
struct AfterFirst<std::tuple<P, Ps...>> {
  using First = P;
  using Rest = std::tuple<Ps...>;
};

/// True; the compiler names the mistake if F is no callable.
template <class F>
inline constexpr bool is_checked = sizeof(Signature<F>) > 0;

template <class F>
using WireOf = typename Signature<F>::Wire;
template <class F>
using ResultOf = typename Signature<F>::Result;
template <class F>
using ObjectOf = typename Signature<F>::Object;

/// The type of value on which a free function may run: its first parameter's type if that can be passed as a const
/// reference, otherwise void.
template <class F>
struct RunsOn {
  using First = typename AfterFirst<WireOf<F>>::First;
  template <class... P>
  static constexpr bool takes(std::type_identity<std::tuple<P...>>) {
    if constexpr (Signature<F>::takes_scope) return std::is_invocable_v<const F&, Scope&, const First&, P&&...>;
    else return std::is_invocable_v<const F&, const First&, P&&...>;
  }
  static constexpr bool possible() {
    if constexpr (!std::is_void_v<ObjectOf<F>> || std::is_void_v<First>) return false;
    else return takes(std::type_identity<typename AfterFirst<WireOf<F>>::Rest>{});
  }
  using Type = std::conditional_t<possible(), First, void>;
};

/// The key of a callable: its type, and for functions and member functions the bytes of the pointer. Valid within this
/// process only; on the wire a function has its registered name.
struct CallableKey {
  std::type_index type;
  std::array<std::byte, 16> pointer{};
  friend auto operator<=>(const CallableKey&, const CallableKey&) = default;
};

/// Whether F is a pointer to a function or to a member function: then its CallableKey contains the pointer.
template <class F>
inline constexpr bool has_pointer_key = std::is_pointer_v<F> || std::is_member_function_pointer_v<F>;

template <class F>
[[nodiscard]] CallableKey key_of(const F& callable) {
  CallableKey key{std::type_index(typeid(F)), {}};
  if constexpr (has_pointer_key<F>) {
    static_assert(sizeof(F) <= sizeof(key.pointer));
    std::memcpy(key.pointer.data(), &callable, sizeof(F));
  }
  return key;
}

/// Returns the callable of `key`. REQUIRES: key_of made it from an F.
template <class F>
  requires has_pointer_key<F>
[[nodiscard]] F pointer_of(const CallableKey& key) {
  F callable;
  std::memcpy(&callable, key.pointer.data(), sizeof(F));
  return callable;
}

template <class Param, class Arg>
constexpr bool converts() {
  if constexpr (std::is_floating_point_v<Param> && std::is_integral_v<std::decay_t<Arg>>) {
    return std::numeric_limits<std::decay_t<Arg>>::digits <= std::numeric_limits<Param>::digits;  // every value fits
  } else if constexpr (std::is_arithmetic_v<Param> && std::is_arithmetic_v<std::decay_t<Arg>>) {
    return requires(Arg arg) { Param{arg}; };
  } else {
    return std::is_convertible_v<Arg, Param>;
  }
}

/// True if `Arg` converts to the callee's parameter type `Param` without narrowing.
template <class Param, class Arg>
concept ArgumentFor = converts<Param, Arg>();

/// The type in which a future or a value box stores a result of type T: Unit for void.
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, Unit, T>;

}  // namespace detail
}  // namespace troupe
