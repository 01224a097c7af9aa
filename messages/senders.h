// Detects messages whose own fields show that their sender may not send them.
#pragma once

#include <optional>
#include <string>

#include "messages/all.h"
#include "messages/ids.h"

namespace troupe::msg {

/// Returns how `message` contradicts its sender: "optimizer trainer.4 is not of ps1"; nullopt if it does not. `from` is
/// the life that the session authenticated as the sender, not a field of the message; `to` is the receiver. No correct
/// node sends such a message, even if messages are lost, repeated or late.
[[nodiscard]] std::optional<std::string> lie_in(const AnyMessage& message, const NodeLife& from, const NodeName& to);

}  // namespace troupe::msg
