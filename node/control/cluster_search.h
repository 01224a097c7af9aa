// The clusters of the user that run here, for the commands that ask them.
#pragma once

#include <chrono>
#include <optional>
#include <set>
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

/// Returns the one of `all` that `cluster` names and that has a node `node` (empty: any node). Of clusters with one
/// name only those of other users may have invented it, so this user's go first. Prints why there is none, or several.
[[nodiscard]] std::optional<ClusterView> find_cluster(const std::vector<ClusterView>& all, const std::string& cluster,
                                                      const std::string& node);

/// Returns that no node has this name, for error texts; `there`: the names of all.
[[nodiscard]] std::string no_such_node(const std::string& node, const std::set<std::string>& there);

/// Prints "troupe: WHY" on standard error. Returns the exit status of a failure.
int fail(std::string_view why);

/// Returns "digits (4f2a...)" for each, for error texts, and why its launcher does not answer.
[[nodiscard]] std::string list_of(const std::vector<ClusterView>& clusters);

/// Returns why nothing is meant by `wanted`, if there are `all`.
[[nodiscard]] std::string nothing_found(const std::string& wanted, const std::vector<ClusterView>& all);

}  // namespace troupe::detail
