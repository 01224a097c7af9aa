// From a message to what a session takes: encoded, cut, hashed, and what it is to flow control. Done by the thread that sends.
#pragma once

#include <optional>
#include <string>

#include "actors/sessions/session.h"
#include "messages/all.h"
#include "messages/envelope.h"

namespace troupe::detail {

/// Errors: as msg::encode.
[[nodiscard]] Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message, const Packing& packing);

/// How a session treats a request to `actor` of a peer. What a user asks for waits for the peer's grant; what the runtime
/// asks for does not. Uses of one value keep their order, and entries at barrier places.
[[nodiscard]] Posting posting_of(const msg::AnyMessage& message, const std::string& actor, bool nested);

}  // namespace troupe::detail
