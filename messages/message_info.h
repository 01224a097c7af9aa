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

/// The nodes that may send a message. senders.h checks the message's own fields on arrival; a rule that needs other
/// knowledge is checked by the actor that has it.
enum class Sender : std::uint8_t {
  member,       ///< every member of the cluster, for itself and within its quotas
  maker,        ///< the life that made the id by which the message names its subject
  knower,       ///< every member that was given the id of the value, context or optimizer, which is unguessable
  holder,       ///< the life that holds the fork; checked by its owner actor
  owner,        ///< the life that owns the value; checked by the table of handles
  answerer,     ///< the life that was asked; checked by the table of requests
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
