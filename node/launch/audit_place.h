// Where the nodes of `troupe up --log-dir` keep their audit logs.
#pragma once

#include <cstdint>

#include "node/config/config.h"

namespace troupe::detail {

enum class AuditPlace : std::uint8_t {
  as_configured,   ///< in node.audit_log, or nowhere: the nodes have no keys
  beside_output,   ///< in the directory of what they print: they have keys, and all run on this machine
  on_other_hosts,  ///< only node.audit_log can say where: they have keys, and a host may be another machine
};

/// Which nodes the launcher starts, and with which keys.
enum class StartOf : std::uint8_t {
  cluster,    ///< all of them, with keys of the run if `config` asks for these
  host_part,  ///< those of one host, which is this machine, with key files
};

/// Blocks as long as the system's resolver does.
[[nodiscard]] AuditPlace audit_place(const ClusterConfig& config, StartOf start);

}  // namespace troupe::detail
