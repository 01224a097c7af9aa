// Runs the actors of one simulated node, one message at a time, when the world chooses.
#pragma once

#include <memory>

#include "node/sim/schedule.h"

namespace troupe::detail {
class ActorHost;
}  // namespace troupe::detail

namespace troupe::sim {

/// A host whose actors wait for the world's choice. It may outlive its world: messages are then dropped.
[[nodiscard]] std::unique_ptr<detail::ActorHost> make_sim_host(std::shared_ptr<Schedule> schedule, NodeName node);

/// Makes the actors of `host`, a result of make_sim_host, handle messages when they are sent, not when the world
/// chooses them: for a node that dies, while the rest of the world is stopped. Handles queued messages first.
void handle_at_once(detail::ActorHost& host);

}  // namespace troupe::sim
