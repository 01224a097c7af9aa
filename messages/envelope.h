// What is written on the outside of a message.
#pragma once

#include <string>

#include "messages/ids.h"

namespace troupe::msg {

/// Who says it to whom, and which conversation it belongs to. A reply repeats the request's id in `in_reply_to`. How long
/// its sender waits is the session's to say, when the message leaves.
struct Envelope {
  NodeName from{};           ///< checked by the receiver against the authenticated session
  std::string to{};          ///< actor name, "ps0/worker"
  RequestId request{};       ///< zero unless an answer is expected
  RequestId in_reply_to{};   ///< zero unless this is an answer
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

}  // namespace troupe::msg
