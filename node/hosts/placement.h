// On which host each node of a cluster runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/config/settings.h"

namespace troupe::detail {

/// Returns for each node, in order of rank, the index of its host in `config.hosts`. Throws ConfigError if there are
/// not enough slots. REQUIRES: `config.hosts` is not empty and has all hosts that the roles name.
[[nodiscard]] std::vector<std::size_t> place_nodes(const ClusterConfig& config);

/// Returns what is wrong if all hosts are given one address, to listen at or to tell others; empty if they are not.
[[nodiscard]] std::vector<std::string> addresses_of_all_hosts(const ClusterConfig& config);

/// Adds what a program of `role` finds in its environment because it is the node number `index` of `host`: a GPU, and
/// the variables of both.
void add_host_variables(Variables& variables, const HostConfig& host, const RoleConfig& role, std::size_t index);

}  // namespace troupe::detail
