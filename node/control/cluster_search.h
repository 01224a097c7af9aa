// Finds the user's clusters that run on this machine, for the commands that query them.
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

/// Returns the cluster among `all` that `cluster` names and that has a node `node` (empty: any node). A whole id takes
/// precedence over ids that begin with it, and clusters of this user: processes of other users may use any name. Prints
/// the reason if no cluster fits, or several do.
[[nodiscard]] std::optional<ClusterView> find_cluster(const std::vector<ClusterView>& all, const std::string& cluster,
                                                      const std::string& node);

/// Returns the error text for a node name that no node has; `there`: the names of all nodes.
[[nodiscard]] std::string no_such_node(const std::string& node, const std::set<std::string>& there);

/// Prints "troupe: WHY" on standard error. Returns the exit status of a failure.
int fail(std::string_view why);

/// Returns "digits (4f2a...)" for each cluster, for error texts, and why its launcher does not answer.
[[nodiscard]] std::string list_of(const std::vector<ClusterView>& clusters);

/// Returns the error text for `wanted` if it names none of the clusters `all`.
[[nodiscard]] std::string nothing_found(const std::string& wanted, const std::vector<ClusterView>& all);

}  // namespace troupe::detail
