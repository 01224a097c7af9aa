// Runs the actors of one simulated node, one message at a time, when the world says so.
#pragma once

#include <memory>

#include "node/sim/schedule.h"

namespace troupe::detail {
class ActorHost;
}  // namespace troupe::detail

namespace troupe::sim {

/// A host whose actors wait for the world's choice. It may outlive its world: messages are then dropped.
[[nodiscard]] std::unique_ptr<detail::ActorHost> make_sim_host(std::shared_ptr<Schedule> schedule, NodeName node);

/// From now on the actors of `host`, which make_sim_host made, handle messages when they are sent, not when the world
/// chooses them: for a node that dies, while the rest of the world stands still. Handles what waits first.
void handle_at_once(detail::ActorHost& host);

}  // namespace troupe::sim
