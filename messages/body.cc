#include "messages/body.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace troupe::msg {

namespace {

/// Loads alternative I if `tag` is its number. Returns whether it was.
template <std::size_t I>
bool load_if(MessageTag tag, InArchive& ar, AnyMessage& message) {
  using Message = std::variant_alternative_t<I, AnyMessage>;
  if (Message::kInfo.tag() != tag) return false;
  ar(message.emplace<I>());
  return true;
}

template <std::size_t... Is>
bool load_any(MessageTag tag, InArchive& ar, AnyMessage& message, std::index_sequence<Is...>) {
  return (load_if<Is>(tag, ar, message) || ...);
}

}  // namespace

void save_body(const AnyMessage& message, OutArchive& ar) {
  std::visit([&ar](const auto& held) { ar(held); }, message);
}

AnyMessage load_body(MessageTag tag, InArchive& ar) {
  AnyMessage message;
  if (!load_any(tag, ar, message, std::make_index_sequence<std::variant_size_v<AnyMessage>>())) {
    throw DecodeError(fmt::format("[decode] no message has the number {:#06x}", static_cast<unsigned>(tag)));
  }
  ar.finish();
  return message;
}

}  // namespace troupe::msg
