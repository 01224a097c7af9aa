// The plan of `troupe up` over hosts, complete before anything is started but for what only the hosts know.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/hosts/agent_messages.h"

namespace troupe::detail {

/// What one host will be told.
struct HostPlan {
  std::string name;
  std::vector<std::string> agent;  ///< program and arguments that run the agent there
  AgentPrepare prepare;
  std::vector<std::filesystem::path> programs_here;  ///< of prepare.programs: where each is on this machine
  AgentStart start;                                  ///< without the first node's address
  std::vector<std::size_t> nodes;                    ///< the ranks of start.nodes
};

/// The parts of a plan that are the same for all hosts.
struct HostPlanRequest {
  const ClusterConfig& config;
  std::string cluster_id;
  std::vector<std::string> names;    ///< of all nodes, in order of rank
  std::vector<Variables> variables;  ///< of each node
};

/// Returns a plan for each host that gets nodes. Throws ConfigError with all problems.
[[nodiscard]] std::vector<HostPlan> plan_hosts(HostPlanRequest request);

}  // namespace troupe::detail
