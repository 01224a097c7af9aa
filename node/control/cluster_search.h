// The clusters of the user that run here, for the commands that ask them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/control_socket.h"
#include "node/control/status_view.h"

namespace troupe::detail {

/// Whether nodes are queried, too.
enum class Nodes { no, yes };

/// Queries the launchers in `names` and, if `nodes` is yes, the nodes: those of other hosts by way of their launchers.
[[nodiscard]] std::vector<ClusterView> ask_around(const std::vector<ControlName>& names, Nodes nodes,
                                                  std::chrono::milliseconds patience);

/// Prints "troupe: WHY" on standard error. Returns the exit status of a failure.
int fail(std::string_view why);

/// Returns "digits (4f2a...)" for each, for error texts.
[[nodiscard]] std::string list_of(const std::vector<ClusterView>& clusters);

/// Returns why nothing is meant by `wanted`, if there are `all`.
[[nodiscard]] std::string nothing_found(const std::string& wanted, const std::vector<ClusterView>& all);

}  // namespace troupe::detail
