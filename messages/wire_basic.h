// Wire formats of numbers, enums, strings, tensors and cereal's own wrappers. Included by archive.h.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "messages/archive.h"

namespace troupe {

namespace detail {
/// The schema's name of a number type: "i32", "u64", "f32", "bool", "char".
template <Number T>
[[nodiscard]] std::string number_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, char>) return "char";
  const char* kind = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
  return std::string(kind).append(std::to_string(8 * sizeof(T)));
}
}  // namespace detail

template <detail::Number T>
struct WireFormat<T> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const T& value) { ar.write(&value, sizeof value); }
  static void load(InArchive& ar, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = ar.number<std::uint8_t>();
      if (byte > 1) detail::fail_not_boolean(byte);
      value = byte == 1;
    } else {
      value = ar.number<T>();
    }
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token(detail::number_name<T>());
  }
};

/// Travels as its underlying integer; any value of that type may arrive.
template <detail::Enum T>
struct WireFormat<T> {
  static constexpr bool kTravels = true;
  using Underlying = std::underlying_type_t<T>;
  static void save(OutArchive& ar, const T& value) { ar(static_cast<Underlying>(value)); }
  static void load(InArchive& ar, T& value) {
    Underlying number{};
    ar(number);
    value = static_cast<T>(number);
  }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.template type<Underlying>();
  }
};

template <>
struct WireFormat<std::string> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const std::string& value) { ar.text(value); }
  static void load(InArchive& ar, std::string& value) { value = ar.text(); }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("string");
  }
};

template <>
struct WireFormat<Tensor> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const Tensor& value) { ar.tensor(value); }
  static void load(InArchive& ar, Tensor& value) { value = ar.tensor(); }
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("tensor");
  }
};

/// Its frames travel unchanged.
template <>
struct WireFormat<msg::Payload> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const msg::Payload& value);
  static void load(InArchive& ar, msg::Payload& value);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("payload");
  }
};

/// The name of a name-value pair does not travel.
template <class T>
struct WireFormat<cereal::NameValuePair<T>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const cereal::NameValuePair<T>& pair) { ar(pair.value); }
  static void load(InArchive& ar, cereal::NameValuePair<T>& pair) { ar(pair.value); }
};

/// For user types that write their own containers.
template <class T>
struct WireFormat<cereal::SizeTag<T>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const cereal::SizeTag<T>& tag) { ar.length(tag.size); }
  static void load(InArchive& ar, cereal::SizeTag<T>& tag) {
    tag.size = static_cast<std::remove_cvref_t<T>>(ar.length(1));
  }
};

template <class T>
struct WireFormat<cereal::BinaryData<T>> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const cereal::BinaryData<T>& binary) { ar.write(binary.data, binary.size); }
  static void load(InArchive& ar, cereal::BinaryData<T>& binary) {
    const std::byte* from = ar.take(binary.size);
    if (binary.size > 0) std::memcpy(binary.data, from, binary.size);
  }
};

// For cereal's own writes: class versions and the values of save_minimal.
template <class T>
  requires(detail::Number<T> || detail::Enum<T>)
void save(OutArchive& ar, const T& value) {
  ar(value);
}
template <class T>
  requires(detail::Number<T> || detail::Enum<T>)
void load(InArchive& ar, T& value) {
  ar(value);
}
void save(OutArchive& ar, const std::string& value);
void load(InArchive& ar, std::string& value);
template <class T>
void save(OutArchive& ar, const cereal::NameValuePair<T>& pair) {
  ar(pair.value);
}
template <class T>
void load(InArchive& ar, cereal::NameValuePair<T>& pair) {
  ar(pair.value);
}

// User types: by what cereal finds, or field by field.

template <class T>
void WireFormat<T>::save(OutArchive& ar, const T& value) {
  static_assert(!std::is_pointer_v<T>, "a raw pointer means nothing on another node: send the value, or an RRef to it");
  static_assert(!std::is_same_v<T, long double>, "long double differs between machines: send a double");
  const detail::Level level(ar, detail::Nesting::structure);
  if constexpr (!detail::Serializes<T> && detail::PlainStruct<T>) {
    detail::with_plain_fields(value, [&ar](const auto&... fields) { ar(fields...); });
  } else {
    ar.user(value);
  }
}

template <class T>
void WireFormat<T>::load(InArchive& ar, T& value) {
  const detail::Level level(ar, detail::Nesting::structure);
  if constexpr (!detail::Serializes<T> && detail::PlainStruct<T>) {
    detail::with_plain_fields(value, [&ar](auto&... fields) { ar(fields...); });
  } else {
    ar.user(value);
  }
}

}  // namespace troupe
