// Answers fetches of values of this node, of their types, and of elements of streams.
#pragma once

#include <functional>
#include <vector>

#include "actors/core/node_core.h"
#include "messages/rref.h"

namespace troupe::detail {

/// Encodes the requested values one after the other on the pool, each in its turn, then answers. On the receiving
/// thread; does not block.
void serve_fetch(NodeCore& node, const Delivery& delivery, msg::RRefFetch fetch);

/// Calls `begin`, which requests turns on values of this node for `peer`: at once, or, while `peer` does not
/// acknowledge its answers, later, in order with its other calls. Until then the values are kept alive and no turn is
/// held. On the receiving thread.
void begin_as_answers_are_taken(NodeCore& node, const NodeLife& peer, const std::vector<RRefId>& rrefs,
                                std::function<void()> begin);

}  // namespace troupe::detail
