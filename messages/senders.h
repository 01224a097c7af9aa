// Who may send a message: the lies that the message itself shows.
#pragma once

#include <optional>
#include <string>

#include "messages/all.h"
#include "messages/ids.h"

namespace troupe::msg {

/// Returns how `message` contradicts its sender: "optimizer trainer.4 is not of ps1"; nullopt if it does not. `from` is
/// the life that the session knows as the sender, never what the message says; `to` is the receiver. No correct node
/// sends such a message, whatever is lost, repeated or late.
[[nodiscard]] std::optional<std::string> lie_in(const AnyMessage& message, const NodeLife& from, const NodeName& to);

}  // namespace troupe::msg
