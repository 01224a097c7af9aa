// The fields of a message, without its envelope. Used by the codec only.
#pragma once

#include "messages/all.h"
#include "messages/archive.h"

namespace troupe::msg {

/// Writes the fields of `message`. Throws EncodeError.
void save_body(const AnyMessage& message, OutArchive& ar);

/// Returns the message numbered `tag` whose fields `ar` holds. Throws DecodeError.
[[nodiscard]] AnyMessage load_body(MessageTag tag, InArchive& ar);

}  // namespace troupe::msg
