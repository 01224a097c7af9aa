// Wire formats of the standard library's containers and vocabulary types. Included by archive.h.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "messages/archive.h"

namespace troupe {

namespace detail {

[[noreturn]] void fail_duplicate_key();
[[noreturn]] void fail_alternative(std::uint64_t index, std::uint64_t count);

/// Makes room for one more of `count` elements. Capacities are count, count/2, count/4, ...: never more than twice the
/// elements that are there, and exactly `count` at the end.
template <class Vector>
void make_room(Vector& values, std::uint64_t count) {
  if (values.size() < values.capacity()) return;
  std::uint64_t capacity = count;
  while (capacity > 2 * values.size() && capacity * sizeof(typename Vector::value_type) > 256) {
    capacity = (capacity + 1) / 2;
  }
  values.reserve(std::max<std::uint64_t>(capacity, values.size() + 1));
}

/// vector, deque, list: a length, then the elements.
template <class Sequence>
struct SequenceFormat {
  using Value = typename Sequence::value_type;
  static constexpr bool kTravels = Travels<Value>;

  static void save(OutArchive& ar, const Sequence& values) {
    const Level level(ar, Nesting::container);
    ar.length(values.size());
    auto next = values.begin();
    ar.elements(values.size(), [&] {
      const Value& value = *next++;
      ar(value);
    });
  }
  static void load(InArchive& ar, Sequence& values) {
    const Level level(ar, Nesting::container);
    const std::uint64_t count = ar.length();
    values.clear();
    ar.elements(count, [&] {
      if constexpr (requires { values.capacity(); }) make_room(values, count);
      ar(values.emplace_back());
    });
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<Value>("list");
  }
};

/// set, map and their kin: a length, then the elements, in the order of the keys where they have one: what is sent does
/// not depend on hashes.
template <class Container, class Element, bool kUnique>
struct TreeFormat {
  static void save(OutArchive& ar, const Container& values) {
    const Level level(ar, Nesting::container);
    ar.length(values.size());
    std::vector<const typename Container::value_type*> order;
    order.reserve(values.size());
    for (const auto& value : values) order.push_back(&value);
    if constexpr (requires(const typename Container::key_type& k) { values.bucket_count(), k < k; }) {
      std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return key(*a) < key(*b); });
    }
    auto next = order.begin();
    ar.elements(order.size(), [&] { ar(**next++); });
  }
  static void load(InArchive& ar, Container& values) {
    const Level level(ar, Nesting::container);
    const std::uint64_t count = ar.length();
    values.clear();
    ar.elements(count, [&] {
      Element element{};
      ar(element);
      values.insert(std::move(element));
    });
    if (kUnique && values.size() != count) fail_duplicate_key();
  }

 private:
  static const typename Container::key_type& key(const typename Container::value_type& value) {
    if constexpr (requires { typename Container::mapped_type; }) {
      return value.first;
    } else {
      return value;
    }
  }
};

template <class Container, bool kUnique>
struct SetFormat : TreeFormat<Container, typename Container::value_type, kUnique> {
  static constexpr bool kTravels = Travels<typename Container::value_type>;
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<typename Container::value_type>("set");
  }
};

template <class Container, bool kUnique>
struct MapFormat
    : TreeFormat<Container, std::pair<typename Container::key_type, typename Container::mapped_type>, kUnique> {
  static constexpr bool kTravels = Travels<typename Container::key_type> && Travels<typename Container::mapped_type>;
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<typename Container::key_type, typename Container::mapped_type>("map");
  }
};

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

template <class T, class A>
struct WireFormat<std::vector<T, A>> : detail::SequenceFormat<std::vector<T, A>> {};
template <class T, class A>
struct WireFormat<std::deque<T, A>> : detail::SequenceFormat<std::deque<T, A>> {};
template <class T, class A>
struct WireFormat<std::list<T, A>> : detail::SequenceFormat<std::list<T, A>> {};

/// Numbers go in one piece.
template <detail::Bulk T, class A>
struct WireFormat<std::vector<T, A>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const std::vector<T, A>& values) {
    ar.length(values.size());
    ar.write(values.data(), values.size() * sizeof(T));
  }
  static void load(InArchive& ar, std::vector<T, A>& values) {
    const std::uint64_t count = ar.length(sizeof(T));
    const std::byte* from = ar.take(count * sizeof(T));
    values.resize(count);
    if (count > 0) std::memcpy(values.data(), from, count * sizeof(T));
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<T>("list");
  }
};

/// One byte each.
template <class A>
struct WireFormat<std::vector<bool, A>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const std::vector<bool, A>& values) {
    ar.length(values.size());
    for (const bool value : values) ar(value);
  }
  static void load(InArchive& ar, std::vector<bool, A>& values) {
    values.resize(ar.length(1));
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool value = false;
      ar(value);
      values[i] = value;
    }
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<bool>("list");
  }
};

template <class K, class C, class A>
struct WireFormat<std::set<K, C, A>> : detail::SetFormat<std::set<K, C, A>, true> {};
template <class K, class C, class A>
struct WireFormat<std::multiset<K, C, A>> : detail::SetFormat<std::multiset<K, C, A>, false> {};
template <class K, class H, class E, class A>
struct WireFormat<std::unordered_set<K, H, E, A>> : detail::SetFormat<std::unordered_set<K, H, E, A>, true> {};
template <class K, class V, class C, class A>
struct WireFormat<std::map<K, V, C, A>> : detail::MapFormat<std::map<K, V, C, A>, true> {};
template <class K, class V, class C, class A>
struct WireFormat<std::multimap<K, V, C, A>> : detail::MapFormat<std::multimap<K, V, C, A>, false> {};
template <class K, class V, class H, class E, class A>
struct WireFormat<std::unordered_map<K, V, H, E, A>> : detail::MapFormat<std::unordered_map<K, V, H, E, A>, true> {};

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
    schema.template list<T>("array" + std::to_string(N));
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
    schema.template list<Rep>("duration" + std::to_string(Period::num) + "/" + std::to_string(Period::den));
  }
};

}  // namespace troupe
