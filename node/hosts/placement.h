// On which host each node of a cluster runs.
#pragma once

#include <cstddef>
#include <vector>

#include "node/config/config.h"

namespace troupe::detail {

/// Returns for each node, in order of rank, the index of its host in `config.hosts`. Throws ConfigError if there are
/// not enough slots. REQUIRES: `config.hosts` is not empty and has all hosts that the roles name.
[[nodiscard]] std::vector<std::size_t> place_nodes(const ClusterConfig& config);

}  // namespace troupe::detail
