// Collectives on the CPU, by the algorithms of Gloo.
//
//   const auto trainers = gloo_collective(node, node.role("trainer"));   // every trainer, also in a served function
//
// Gloo decides which member adds which parts; bytes travel as messages over the nodes' existing links: no other
// connection, port, store or thread, the same authentication, and every world has it, also simulated ones.
#pragma once

#include <memory>

#include "actors/collective.h"
#include "actors/group.h"

namespace troupe {

/// Waits until every member of `group` calls it too; the n-th collective of one member meets the n-th of the others.
/// Ranks are positions in the group's names, which all members must give in the same order. Calls, also between the
/// members, may be under way meanwhile, and functions that they serve may participate. Throws RemoteError: timeout,
/// naming the missing members; peer_down; cancelled; bad_argument, if members give the names in another order. Throws
/// std::invalid_argument if this node is no member.
[[nodiscard]] std::shared_ptr<Collective> gloo_collective(const Scope& scope, const Group& group);

}  // namespace troupe
