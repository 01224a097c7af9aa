// The description of a message: its number on the wire, its name, its kind, and who may send it.
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

/// Who may send a message. senders.h checks what the message itself shows, on arrival; where more must be known, the
/// actor that knows it checks first.
enum class Sender : std::uint8_t {
  member,       ///< every member of the cluster, for itself and within its quotas
  maker,        ///< the life that made the id by which the message names its subject
  knower,       ///< every member that was told the id of the value, context or optimizer: it cannot be guessed
  holder,       ///< the life that holds the fork: its owner actor knows
  owner,        ///< the life that owns the value: the table of handles knows
  answerer,     ///< the life that was asked: the table of requests knows
  itself,       ///< the life that the message is about
  coordinator,  ///< the longest-standing member, or the life that the message is about: the membership actor knows
};

/// Every message struct has one as `kInfo`.
struct MessageInfo {
  std::uint16_t number;
  std::string_view name;
  Kind kind;
  Sender sender;

  [[nodiscard]] constexpr MessageTag tag() const { return MessageTag{number}; }
};

}  // namespace troupe::msg
