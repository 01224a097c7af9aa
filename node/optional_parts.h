// The parts of a node beside its core.
#pragma once

#include <memory>

#include "node/audit/audit_log.h"
#include "node/control/node_control.h"
#include "node/joining/join_endpoint.h"
#include "node/watchdog.h"

namespace troupe::detail {

/// Each is null unless the node's options ask for it. Set while the node joins, const from then on.
struct OptionalParts {
  std::unique_ptr<NodeControl> control;
  std::unique_ptr<JoinEndpoint> join_endpoint;
  std::unique_ptr<Watchdog> watchdog;
  std::shared_ptr<AuditLog> audit;
};

}  // namespace troupe::detail
