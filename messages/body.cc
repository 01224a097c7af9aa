#include "messages/body.h"

#include <fmt/format.h>

#include <type_traits>

namespace troupe::msg {

void save_body(const AnyMessage& message, OutArchive& ar) {
  message.visit([&ar](const auto& held) { ar(held); });
}

AnyMessage load_body(MessageTag tag, InArchive& ar) {
  AnyMessage message;
  const bool found = Messages::any_of([&]<class M>(std::type_identity<M>) {
    if (M::kInfo.tag() != tag) return false;
    ar(message.emplace<M>());
    return true;
  });
  if (!found) throw DecodeError(fmt::format("[decode] no message has the number {:#06x}", static_cast<unsigned>(tag)));
  ar.finish();
  return message;
}

}  // namespace troupe::msg
