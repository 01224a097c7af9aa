// Answers who fetches values, their types, or the elements of streams, from the node that owns them.
#pragma once

#include "actors/node_core.h"
#include "messages/rref.h"

namespace troupe::detail {

/// Encodes what is wanted of one value after the other, each in its turn, on the pool, then answers. On the receiving
/// thread; does not block.
void serve_fetch(NodeCore& node, const Delivery& delivery, msg::RRefFetch fetch);

}  // namespace troupe::detail
