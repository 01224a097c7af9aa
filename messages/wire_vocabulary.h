// Wire formats of the standard library's vocabulary types: optional, tuple, variant, array, duration. Included by
// archive.h.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "messages/archive.h"

namespace troupe {

namespace detail {

[[noreturn]] void fail_alternative(std::uint64_t index, std::uint64_t count);

/// optional and unique_ptr: a boolean, then the value if it is true.
template <class Optional, class Value>
struct OptionalFormat {
  static constexpr bool kTravels = Travels<Value>;
  static void save(OutArchive& ar, const Optional& value) {
    const Level level(ar, Nesting::container);
    ar(static_cast<bool>(value));
    if (value) ar(*value);
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<Value>("optional");
  }
};

}  // namespace detail

template <class T>
struct WireFormat<std::optional<T>> : detail::OptionalFormat<std::optional<T>, T> {
  static void load(InArchive& ar, std::optional<T>& value) {
    const detail::Level level(ar, detail::Nesting::container);
    bool present = false;
    ar(present);
    value.reset();
    if (present) ar(value.emplace());
  }
};

template <class T>
struct WireFormat<std::unique_ptr<T>> : detail::OptionalFormat<std::unique_ptr<T>, T> {
  static constexpr bool kTravels = !std::is_polymorphic_v<T> && Travels<T>;
  static void load(InArchive& ar, std::unique_ptr<T>& value) {
    static_assert(!std::is_polymorphic_v<T>,
                  "a pointer to a polymorphic type does not travel: the receiver could not know which type to make");
    const detail::Level level(ar, detail::Nesting::container);
    bool present = false;
    ar(present);
    value.reset();
    if (!present) return;
    value = std::make_unique<T>();
    ar(*value);
  }
};

template <class T>
struct WireFormat<std::shared_ptr<T>> {
  static constexpr bool kTravels = false;
  static void save(OutArchive&, const std::shared_ptr<T>&) { refuse(); }
  static void load(InArchive&, std::shared_ptr<T>&) { refuse(); }

 private:
  static void refuse() { static_assert(!sizeof(T*), "a shared_ptr does not travel: send the value, or an RRef to it"); }
};

template <class... Ts>
struct WireFormat<std::tuple<Ts...>> {
  static constexpr bool kTravels = (Travels<Ts> && ...);
  static void save(OutArchive& ar, const std::tuple<Ts...>& values) {
    std::apply([&ar](const auto&... value) { ar(value...); }, values);
  }
  static void load(InArchive& ar, std::tuple<Ts...>& values) {
    std::apply([&ar](auto&... value) { ar(value...); }, values);
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<Ts...>("tuple");
  }
};

template <class A, class B>
struct WireFormat<std::pair<A, B>> {
  static constexpr bool kTravels = Travels<std::remove_const_t<A>> && Travels<B>;
  static void save(OutArchive& ar, const std::pair<A, B>& pair) { ar(pair.first, pair.second); }
  static void load(InArchive& ar, std::pair<A, B>& pair) { ar(pair.first, pair.second); }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<A, B>("tuple");
  }
};

namespace detail {
/// N elements without a length.
template <class Array, class T, std::size_t N>
struct ArrayFormat {
  static constexpr bool kTravels = Travels<T>;
  static void save(OutArchive& ar, const Array& values) {
    for (const T& value : values) ar(value);
  }
  static void load(InArchive& ar, Array& values) {
    for (T& value : values) ar(value);
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<T>(std::string("array").append(std::to_string(N)));
  }
};
}  // namespace detail

template <class T, std::size_t N>
struct WireFormat<std::array<T, N>> : detail::ArrayFormat<std::array<T, N>, T, N> {};
template <class T, std::size_t N>
struct WireFormat<T[N]> : detail::ArrayFormat<T[N], T, N> {};

/// The index of the alternative in 4 bytes, then its value.
template <class... Ts>
struct WireFormat<std::variant<Ts...>> {
  using Variant = std::variant<Ts...>;
  static constexpr bool kTravels = (Travels<Ts> && ...);
  static void save(OutArchive& ar, const Variant& value) {
    const detail::Level level(ar, detail::Nesting::container);
    ar(static_cast<std::uint32_t>(value.index()));
    std::visit([&ar](const auto& held) { ar(held); }, value);
  }
  static void load(InArchive& ar, Variant& value) {
    const detail::Level level(ar, detail::Nesting::container);
    const auto index = ar.number<std::uint32_t>();
    if (index >= sizeof...(Ts)) detail::fail_alternative(index, sizeof...(Ts));
    load_alternative(ar, value, index, std::index_sequence_for<Ts...>());
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<Ts...>("variant");
  }

 private:
  template <std::size_t... Is>
  static void load_alternative(InArchive& ar, Variant& value, std::uint32_t index, std::index_sequence<Is...>) {
    ((Is == index ? static_cast<void>(ar(value.template emplace<Is>())) : void()), ...);
  }
};

template <>
struct WireFormat<std::monostate> {
  static constexpr bool kTravels = true;
  static void save(OutArchive&, const std::monostate&) {}
  static void load(InArchive&, std::monostate&) {}
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("nothing");
  }
};

/// Travels as its count.
template <class Rep, class Period>
struct WireFormat<std::chrono::duration<Rep, Period>> {
  using Span = std::chrono::duration<Rep, Period>;
  static constexpr bool kTravels = Travels<Rep>;
  static void save(OutArchive& ar, const Span& value) { ar(value.count()); }
  static void load(InArchive& ar, Span& value) {
    Rep count{};
    ar(count);
    value = Span(count);
  }
  template <class Schema>
  static void describe(Schema& schema) {
    const std::string unit = std::to_string(Period::num).append("/").append(std::to_string(Period::den));
    schema.template list<Rep>(std::string("duration").append(unit));
  }
};

}  // namespace troupe
