// The outside of a message: sender, receiver and request id.
#pragma once

#include <string>

#include "messages/ids.h"

namespace troupe::msg {

/// A reply repeats the request's id in `in_reply_to`. The session adds the sender's deadline when the message is sent.
struct Envelope {
  NodeName from{};          ///< checked by the receiver against the authenticated session
  std::string to{};         ///< actor name, "ps0/worker"
  RequestId request{};      ///< zero unless an answer is expected
  RequestId in_reply_to{};  ///< zero unless this is an answer
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

}  // namespace troupe::msg
