// Returns memory that tensors no longer use to the system while a node runs.
#pragma once

#include <memory>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "tensor/cpu/allocator.h"

namespace troupe::detail {

/// Makes `memory`, and the link that shares memory with peers, return what was unused for `idle` to the system, every
/// `idle` by the node's clock, on the node's pool, until the node stops. If there is no memory to do so, all
/// cached memory is returned at once. Several nodes may share one `memory`. REQUIRES: `memory` outlives the node.
/// Thread rule: any thread.
void return_idle_memory(const std::shared_ptr<NodeCore>& node, CachingAllocator& memory, Duration idle) noexcept;

}  // namespace troupe::detail
