// One value of every message, each field set to something else than its default.
#pragma once

#include <vector>

#include "messages/codec.h"

namespace troupe::testing {

/// In the order of AnyMessage. Tensors are made anew by every call.
[[nodiscard]] std::vector<msg::AnyMessage> every_message();

/// trainer -> ps0/worker, request 7, answer to 0, 2 s left; a reply swaps the two ids.
[[nodiscard]] msg::Envelope envelope_for(const msg::AnyMessage& message);

/// Bytes written as hex digits; spaces are skipped.
[[nodiscard]] std::vector<std::byte> from_hex(std::string_view text);

/// 16 bytes a line, frames divided by an empty line.
[[nodiscard]] std::string to_hex(const Frames& frames);

}  // namespace troupe::testing
