// The parts of a node beside its core.
#pragma once

#include <unistd.h>

#include <memory>

#include "node/audit/audit_log.h"
#include "node/control/node_control.h"
#include "node/joining/join_endpoint.h"
#include "node/watchdog.h"

namespace troupe::detail {

/// Each pointer is null unless the node's options ask for it. Set while the node joins, const from then on.
struct OptionalParts {
  /// Returns false in a child process forked later: it has the node's memory without its threads, and locks in their
  /// state at the fork.
  [[nodiscard]] bool are_of_this_process() const { return ::getpid() == process; }

  const pid_t process = ::getpid();  ///< that made the node
  std::unique_ptr<NodeControl> control;
  std::unique_ptr<JoinEndpoint> join_endpoint;
  std::unique_ptr<Watchdog> watchdog;
  std::shared_ptr<AuditLog> audit;
  bool is_world_final = false;  ///< it is complete and does not grow: its nodes are all that there will be
};

}  // namespace troupe::detail
