// A seed that has gone may come again, as a new life at its address: members meet it there.
#pragma once

#include <memory>
#include <string>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "messages/ids.h"

namespace troupe::detail {

/// While `seed` is not up, connects `node` to `address`, as NodeOptions::seed has it, every `interval` by the node's
/// clock, later every eight intervals, on the node's pool, until the node stops. A host's name is looked up each time.
/// REQUIRES: the node is in. Thread rule: any thread.
void watch_seed(const std::shared_ptr<NodeCore>& node, NodeName seed, std::string address, Duration interval);

}  // namespace troupe::detail
