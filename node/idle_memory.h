// Memory that tensors needed and need no more goes back to the system while a node runs.
#pragma once

#include <memory>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "tensor/cpu/allocator.h"

namespace troupe::detail {

/// Has `memory` give back what nobody has needed for `idle`, every `idle` by the node's clock on the node's pool, until the
/// node stops. Where there is no memory for that either, all that is kept goes back at once. Several nodes may do so with the
/// same memory. `memory` outlives the node. Any thread.
void return_idle_memory(const std::shared_ptr<NodeCore>& node, CachingAllocator& memory, Duration idle) noexcept;

}  // namespace troupe::detail
