// One value of every message, with each field set to a non-default value.
#pragma once

#include <vector>

#include "messages/codec.h"

namespace troupe::testing {

/// Returns them in the order of AnyMessage. Every call creates new tensors.
[[nodiscard]] std::vector<msg::AnyMessage> every_message();

/// Returns an envelope: trainer -> ps0/worker, request 7, answer to 0, 2 s left. For a reply the two ids are swapped.
[[nodiscard]] msg::Envelope envelope_for(const msg::AnyMessage& message);

/// Returns the bytes of hex digits; skips spaces.
[[nodiscard]] std::vector<std::byte> from_hex(std::string_view text);

/// Returns 16 bytes per line, with an empty line between frames.
[[nodiscard]] std::string to_hex(const Frames& frames);

}  // namespace troupe::testing
