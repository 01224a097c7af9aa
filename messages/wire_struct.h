// How user types travel: by what cereal finds, or field by field. Included by archive.h.
#pragma once

#include "messages/archive.h"

namespace troupe {

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
