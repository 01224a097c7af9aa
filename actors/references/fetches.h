// Answers who fetches values, their types, or the elements of streams, from the node that owns them.
#pragma once

#include <functional>
#include <vector>

#include "actors/core/node_core.h"
#include "messages/rref.h"

namespace troupe::detail {

/// Encodes what is wanted of one value after the other, each in its turn, on the pool, then answers. On the receiving
/// thread; does not block.
void serve_fetch(NodeCore& node, const Delivery& delivery, msg::RRefFetch fetch);

/// Calls `begin`, which asks for turns on values of this node for `peer`: at once or, while `peer` does not take its answers,
/// later, as its other calls begin. Until then the values are held, and no turn is. On the receiving thread.
void begin_as_answers_are_taken(NodeCore& node, const NodeLife& peer, const std::vector<RRefId>& rrefs, std::function<void()> begin);

}  // namespace troupe::detail
