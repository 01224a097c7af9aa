// The router's interface for core/.
#pragma once

#include <atomic>
#include <cstddef>

#include "actors/core/node_core.h"
#include "actors/sessions/router_actor.h"

namespace troupe::detail {

struct NodeCore::Routing {
  RouterActor router;
  std::atomic<std::size_t> pending_requests{0};
};

}  // namespace troupe::detail
