// Packs a message for a session: encodes, cuts and hashes it, and classifies it for flow control. On the sending
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "actors/link.h"
#include "actors/sessions/session.h"
#include "messages/all.h"
#include "messages/envelope.h"

namespace troupe::detail {

/// Errors: as msg::encode; resource_exhausted, and device_out_of_memory for the memory of a GPU.
[[nodiscard]] Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message,
                                          const Packing& packing);

/// The same for a message to `to`, after `link` has shared what it can with the life of that node that is up: the
/// parcel names it. Frames of GPUs that the link neither shares nor passes on are copied to the CPU.
[[nodiscard]] Result<Parcel> pack_message(const msg::Envelope& envelope, const msg::AnyMessage& message,
                                          const Packing& packing, const NodeName& to, Link& link);

/// Returns true for a message that holds a part of its sender's grant of calls until it begins at `actor`: what runs
/// functions of users or copies their values.
[[nodiscard]] bool needs_grant(const msg::AnyMessage& message, std::string_view actor);

/// Returns how a session treats a request to `actor` of a peer. Requests of users wait for the peer's grant; control
/// messages do not. Uses of one value stay in order, and so do entries at one barrier place.
[[nodiscard]] Posting posting_of(const msg::AnyMessage& message, const std::string& actor, bool nested);

}  // namespace troupe::detail
