// Tells the owners of a node's values what concerns all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "actors/core/node_core.h"
#include "messages/ids.h"

namespace troupe::detail {

/// The most owners that the calling thread tells itself.
inline constexpr std::size_t kOwnersToldHere = 1024;

/// Calls `tell` for each of `owners`: on this thread if they are few, else in a job of the pool. An owner takes some
/// microseconds, in which no message of a peer could be handled. If `tell` throws, the node ends. REQUIRES: `tell` may
/// be called on any thread as long as the node exists.
void tell_owners(NodeCore& node, std::vector<RRefId> owners, const std::function<void(const RRefId&)>& tell);

}  // namespace troupe::detail
