// Collectives on the CPU, by the algorithms of Gloo.
//
//   const auto trainers = gloo_collective(node, node.role("trainer"));   // every trainer, also in a served function
//
// Gloo decides who adds what to what; bytes travel as messages between the nodes, over the links that they have anyway:
// no other connection, port, store or thread, the same proof of who is who, and every world has it, simulated ones too.
#pragma once

#include <memory>

#include "actors/collective.h"
#include "actors/group.h"

namespace troupe {

/// Waits until every member of `group` does the same; the n-th collective that one member forms meets the n-th of the
/// others. Ranks are places in the group's names, which all give in the same order. Calls may be under way meanwhile, also
/// between the members, and functions that they serve may take part. Throws RemoteError: timeout, naming who did not come;
/// peer_down; cancelled; bad_argument, if members name each other in another order; std::invalid_argument if this node is no
/// member.
[[nodiscard]] std::shared_ptr<Collective> gloo_collective(const Scope& scope, const Group& group);

}  // namespace troupe
