// How long a peer, or this node's own router, may be silent: the settings of a node, checked and completed.
#pragma once

#include "actors/sessions/silence_limits.h"
#include "node/node.h"

namespace troupe::detail {

/// Returns the rates and limits of heartbeats, those of the node's network where `options` set none. Throws RemoteError
/// for a time out of its range.
[[nodiscard]] FailureDetectorOptions silence_of(const NodeOptions& options);

/// Throws RemoteError for a time that the watchdog cannot keep: a router needs some to answer.
void check_stall_limit(const NodeOptions& options);

}  // namespace troupe::detail
