// How a callable that stands for more than one function is called: default arguments, overloads, operations.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "actors/callable.h"

namespace troupe {

/// Selects one of several overloads, in the same way for the registry and for calls: `overload<Variable(const
/// Variable&, double)>(&scale)`.
template <class Sig>
[[nodiscard]] constexpr Sig* overload(Sig* function) noexcept {
  return function;
}
template <class Sig, class C>
[[nodiscard]] constexpr Sig C::*overload(Sig C::*member) noexcept {
  return member;
}

/// Registers a member function that `T` inherits, as one of T: `{"Counter.add", member_of<Counter>(&Adder::add)}`.
/// Calls on an RRef<T> name it as usual, `&Counter::add`.
template <class T, class Sig, class Base>
  requires std::is_base_of_v<Base, T>
[[nodiscard]] constexpr Sig T::*member_of(Sig Base::*member) noexcept {
  return member;
}

namespace detail {

/// A callable with default values of its last parameters. The caller's node fills them in.
template <class F, class... D>
struct WithDefaults {
  F callable;
  std::tuple<D...> values;
};

template <class F>
struct FunctionName {
  F callable;

  /// Sets the values of the last parameters, in their order.
  template <class... D>
  [[nodiscard]] constexpr WithDefaults<F, D...> defaults(D... values) const {
    static_assert(sizeof...(D) <= Signature<F>::arity, "more default values than parameters");
    return {callable, {std::move(values)...}};
  }
};

}  // namespace detail

/// For default arguments: `inline constexpr auto scale_fn = function(&scale).defaults(2.0)`; register and call that
/// object.
template <class F>
[[nodiscard]] constexpr detail::FunctionName<F> function(F callable) noexcept {
  return {callable};
}

namespace detail {

template <class F, class... D>
struct Signature<WithDefaults<F, D...>> : Signature<F> {};

/// The function, and the arguments, of a call of an `F`. Specialized by callables that stand for several functions.
template <class F>
struct Callee {
  template <class... Args>
  [[nodiscard]] static constexpr const F& choose(const F& callable) noexcept {
    return callable;
  }
  template <class Call, class... Args>
  static decltype(auto) complete(const F&, Call&& call, Args&&... args) {
    return std::forward<Call>(call)(std::forward<Args>(args)...);
  }
};

template <class F, class... D>
struct Callee<WithDefaults<F, D...>> {
  template <class... Args>
  [[nodiscard]] static constexpr const F& choose(const WithDefaults<F, D...>& callable) noexcept {
    return callable.callable;
  }
  template <class Call, class... Args>
  static decltype(auto) complete(const WithDefaults<F, D...>& callable, Call&& call, Args&&... args) {
    constexpr std::size_t arity = std::tuple_size_v<WireOf<F>>;
    static_assert(sizeof...(Args) <= arity && sizeof...(Args) + sizeof...(D) >= arity,
                  "wrong number of arguments for this callable, its default values counted");
    constexpr std::size_t given_away = sizeof...(D) + sizeof...(Args) - arity;  // defaults that the call overrides
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> decltype(auto) {
      return std::forward<Call>(call)(std::forward<Args>(args)..., std::get<given_away + I>(callable.values)...);
    }(std::make_index_sequence<arity - sizeof...(Args)>{});
  }
};

/// Takes the place of the first argument of a function that runs on the value of a reference.
struct OnValue {};

/// Whether `F` is a member function that `T` inherits.
template <class F, class T>
inline constexpr bool is_inherited = false;
template <class Sig, class Base, class T>
inline constexpr bool is_inherited<Sig Base::*, T> = std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>;

/// Whether a callable stands for a member function.
template <class F>
inline constexpr bool is_member = std::is_member_function_pointer_v<F>;
template <class F, class... D>
inline constexpr bool is_member<WithDefaults<F, D...>> = is_member<F>;

/// The function that a call of an `F` with `Args` runs, and its result.
template <class F, class... Args>
using ChosenFor = std::remove_cvref_t<decltype(Callee<F>::template choose<Args...>(std::declval<const F&>()))>;
template <class F, class... Args>
using ResultFor = ResultOf<ChosenFor<F, Args...>>;

/// The same for a call on a value of type T: of a member function, or of a function whose first parameter is the value.
template <class T, class F, class... Args>
struct OnValueOf {
  using Type = ChosenFor<F, const T&, Args...>;
};
template <class T, class F, class... Args>
  requires is_member<F>
struct OnValueOf<T, F, Args...> {
  using Type = ChosenFor<F, Args...>;
};
template <class T, class F, class... Args>
using ChosenOn = typename OnValueOf<T, F, Args...>::Type;
template <class T, class F, class... Args>
using ResultOn = ResultOf<ChosenOn<T, F, Args...>>;

}  // namespace detail
}  // namespace troupe
