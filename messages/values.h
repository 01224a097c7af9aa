// Encodes values of user types as a payload and decodes them: the arguments of a call, or its result.
#pragma once

#include <tuple>
#include <utility>

#include "messages/archive.h"
#include "messages/payload.h"

namespace troupe {

/// Returns `values` encoded one after the other; the hook's owner sets `refs` and `boundary`.
template <class... Ts>
[[nodiscard]] msg::Payload to_payload(ArchiveHook* hook, const Ts&... values) {
  OutArchive ar(hook);
  ar(values...);
  Encoded encoded = ar.finish();
  return {make_frame(std::move(encoded.bytes)), std::move(encoded.frames), {}, {}};
}

/// Returns the values in `payload`. Throws DecodeError unless they are exactly of these types.
template <class... Ts>
[[nodiscard]] std::tuple<Ts...> from_payload(const msg::Payload& payload, ArchiveHook* hook = nullptr) {
  InArchive ar(payload, hook);
  std::tuple<Ts...> values;
  std::apply([&ar](auto&... value) { ar(value...); }, values);
  ar.finish();
  return values;
}

}  // namespace troupe
