// The description of a message: its number on the wire, its name and its kind.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace troupe::msg {

/// A message's number on the wire; high byte = family. Never reused, never changed.
enum class MessageTag : std::uint16_t {};

enum class Kind : std::uint8_t {
  request = 1,       ///< answered exactly once: by the reply that its comment names, or by Failure
  reply = 2,         ///< answers the request whose id is in Envelope::in_reply_to
  notification = 3,  ///< expects no answer
};

/// Every message struct has one as `kInfo`.
struct MessageInfo {
  std::uint16_t number;
  std::string_view name;
  Kind kind;

  [[nodiscard]] constexpr MessageTag tag() const { return MessageTag{number}; }
};

}  // namespace troupe::msg
