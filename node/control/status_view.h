// What `troupe status` shows: all processes of each cluster, put together from what they and their launcher say.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/cluster_report.h"
#include "node/control/control_client.h"

namespace troupe {

/// One process of a cluster.
struct NodeView {
  NodeName name;
  pid_t pid = 0;                     ///< 0 if it is not known
  std::optional<std::uint32_t> rank; ///< nothing if it is not known
  std::string problem;               ///< why there is no report: "no answer within 2000 ms: its process is stopped"
  std::optional<NodeReport> report;  ///< what it says of itself
};

struct ClusterView {
  std::string id;
  std::string name;                     ///< the id, if no launcher knows better
  std::string file;                     ///< absolute path of the cluster file; empty if there is no launcher
  std::optional<Duration> age;          ///< since it was started, if a launcher knows
  std::string problem;                  ///< why its launcher says nothing
  std::vector<NodeView> nodes;          ///< in order of rank if a launcher knows it, then by name
  [[nodiscard]] bool all_answer() const;
};

/// Puts together what launchers (asked for "nodes") and nodes (asked for "status") answered, by cluster id. A node that
/// only others speak of is there, too.
[[nodiscard]] std::vector<ClusterView> views_of(const std::vector<ControlAnswer>& answers);

/// Whether the user means this cluster by `word`: its name, its id or the beginning of it, its cluster file. An empty word
/// means every cluster.
[[nodiscard]] bool is_meant(const ClusterView& cluster, std::string_view word);

/// How many peers of one node are shown.
enum class PeersShown { busiest, all };

/// One table of the nodes, one of what waits and stays on each for its peers, and one of what went between them.
[[nodiscard]] std::string text_of(const ClusterView& cluster, PeersShown peers);

/// A JSON array of all of `clusters`, on one line.
[[nodiscard]] std::string json_of(const std::vector<ClusterView>& clusters);

}  // namespace troupe
