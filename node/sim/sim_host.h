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

/// Runs the actors of `host`, which make_sim_host made, until none has a message: what has been said to them is done.
void drain(detail::ActorHost& host);

}  // namespace troupe::sim
