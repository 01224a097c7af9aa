// Wire formats of the standard library's containers. Included by archive.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "messages/archive.h"
#include "tensor/shape.h"

namespace troupe {

namespace detail {

/// Keys in one bucket of a hash table that is read.
inline constexpr std::ptrdiff_t kBucketMax = 1'024;

[[noreturn]] void fail_duplicate_key();
[[noreturn]] void fail_bucket();

/// Sorts the addresses of elements; equal elements keep their order.
void sort_elements(std::vector<const void*>& elements, bool (*less)(const void* a, const void* b));

/// Makes room for one more of `count` elements. Capacities are count, count/2, count/4, ...: never more than twice the
/// present elements, and exactly `count` at the end.
template <class Vector>
void make_room(Vector& values, std::uint64_t count) {
  if (values.size() < values.capacity()) return;
  std::uint64_t capacity = count;
  while (capacity > 1 && capacity > 2 * values.size() && capacity * sizeof(typename Vector::value_type) > 256) {
    capacity = (capacity + 1) / 2;
  }
  const std::uint64_t needed = values.size() + 1;
  values.reserve(capacity > needed ? capacity : needed);
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

/// A table whose hashes anyone can compute, and so choose keys that are all in one bucket. A user's own hash may be a
/// secret, or a bad one.
template <class Container>
concept PublicHash = requires(const Container& values) {
  values.bucket_count();
  requires std::is_same_v<typename Container::hasher, std::hash<typename Container::key_type>>;
  requires Number<typename Container::key_type> || Enum<typename Container::key_type> ||
               std::is_same_v<typename Container::key_type, std::string>;
};

/// Throws if the bucket for `key` is full: each further key in it would be compared with all others.
template <class Container>
void require_room_in_bucket(const Container& values, const typename Container::key_type& key) {
  if (std::ssize(values) < kBucketMax) return;
  const std::size_t bucket = values.bucket(key);
  auto at = values.begin(bucket);
  if (std::ranges::advance(at, kBucketMax, values.end(bucket)) == 0) fail_bucket();
}

/// set, map and similar: a length, then the elements, sorted by key if possible: the bytes do not depend on hashes.
template <class Container, class Element, bool kUnique>
struct TreeFormat {
  static void save(OutArchive& ar, const Container& values) {
    const Level level(ar, Nesting::container);
    ar.length(values.size());
    std::vector<const void*> order;
    order.reserve(values.size());
    for (const auto& value : values) order.push_back(&value);
    if constexpr (requires(const typename Container::key_type& k) { values.bucket_count(), k < k; }) {
      sort_elements(order, [](const void* a, const void* b) { return key(element(a)) < key(element(b)); });
    }
    auto next = order.begin();
    ar.elements(order.size(), [&] { ar(element(*next++)); });
  }
  static void load(InArchive& ar, Container& values) {
    const Level level(ar, Nesting::container);
    const std::uint64_t count = ar.length();
    values.clear();
    ar.elements(count, [&] {
      Element element{};
      ar(element);
      if constexpr (PublicHash<Container>) require_room_in_bucket(values, key(element));
      values.insert(std::move(element));
    });
    if (kUnique && values.size() != count) fail_duplicate_key();
  }

 private:
  static const typename Container::value_type& element(const void* address) {
    return *static_cast<const typename Container::value_type*>(address);
  }
  template <class Value>  // an element as it lies in the container, or before
  static const typename Container::key_type& key(const Value& value) {
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

}  // namespace detail

template <class T, class A>
struct WireFormat<std::vector<T, A>> : detail::SequenceFormat<std::vector<T, A>> {};
template <class T, class A>
struct WireFormat<std::deque<T, A>> : detail::SequenceFormat<std::deque<T, A>> {};
template <class T, class A>
struct WireFormat<std::list<T, A>> : detail::SequenceFormat<std::list<T, A>> {};

/// Numbers travel as one block.
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

/// Travels as a list of sizes. More than 16 sizes, or a negative one, are refused on reading.
template <>
struct WireFormat<Shape> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const Shape& shape);
  static void load(InArchive& ar, Shape& shape);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template list<std::int64_t>("shape");
  }
};

}  // namespace troupe
