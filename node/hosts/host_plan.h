// The plan of `troupe up` over hosts, complete before anything is started but for what only the hosts know.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/hosts/agent_messages.h"
#include "node/keys/key_ring.h"

namespace troupe::detail {

/// What one host will be told.
struct HostPlan {
  std::string name;
  std::vector<std::string> agent;  ///< program and arguments that run the agent there
  AgentPrepare prepare;
  std::vector<std::filesystem::path> programs_here;  ///< of prepare.programs: where each is on this machine
  AgentStart start;                                  ///< without the first node's address
  std::vector<std::size_t> nodes;                    ///< the ranks of start.nodes
  std::vector<KeyRing> keys;                         ///< of start.nodes, or empty
};

/// The parts of a plan that are the same for all hosts.
struct HostPlanRequest {
  const ClusterConfig& config;
  std::string cluster_id;
  std::string network;               ///< of network_of_hosts
  std::vector<std::string> names;    ///< of all nodes, in order of rank
  std::vector<Variables> variables;  ///< of each node
  std::vector<KeyRing> keys;         ///< of each node, or empty
};

/// Returns the network of a cluster with hosts: what the file says, or, for "auto", "keys" for several hosts and for
/// one that has an address, otherwise "loopback".
[[nodiscard]] std::string network_of_hosts(const ClusterConfig& config);

/// Returns a plan for each host that gets nodes. Throws ConfigError with all problems.
[[nodiscard]] std::vector<HostPlan> plan_hosts(HostPlanRequest request);

}  // namespace troupe::detail
