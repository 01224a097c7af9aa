// What `troupe doctor` will ask of which host, complete before any is connected.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/config/settings.h"
#include "node/doctor/doctor_messages.h"
#include "node/doctor/host_rules.h"
#include "node/hosts/agent_messages.h"

namespace troupe::detail {

struct DoctorHost {
  std::string name;
  std::vector<std::string> agent;  ///< program and arguments that run the agent there
  HostNeeds needs;
  ListenOrder listen;                    ///< without `first` and `token`
  std::optional<AgentPrepare> programs;  ///< for a host that gets nodes
};

struct DoctorPlan {
  std::vector<DoctorHost> hosts;  ///< all of the file, in its order
  std::size_t first = 0;          ///< the host of the first node
  bool has_network = false;       ///< nodes listen at tcp ports
  std::string ports;              ///< cluster.ports
};

/// Returns the cluster that `target` means: that of a file; or, if there is no such file, one of two hosts, this
/// machine and `target`, which ssh reaches. Throws ConfigError.
[[nodiscard]] ClusterConfig doctor_target(const std::string& target, const Variables& variables,
                                          std::span<const std::string> overrides);

/// Throws ConfigError, also for a file without hosts.
[[nodiscard]] DoctorPlan plan_doctor(const ClusterConfig& config);

}  // namespace troupe::detail
