// The output of `troupe status`: all processes of each cluster, from their own reports and their launcher's.
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
  pid_t pid = 0;                      ///< 0 if unknown
  std::optional<std::uint32_t> rank;  ///< nullopt if unknown
  std::string host;                   ///< its [[host]]; empty without one
  std::string problem;                ///< why there is no report: "no answer within 2000 ms: its process is stopped"
  std::optional<NodeReport> report;   ///< its own report
  std::string launcher = {};          ///< ControlName::node of its launcher, if that reports it
  std::uint64_t lost_lines = 0;       ///< of its output, as its launcher says
};

struct ClusterView {
  std::string id;
  std::string name;                         ///< the id, if there is no launcher
  std::string file;                         ///< absolute path of the cluster file; empty if there is no launcher
  std::optional<Duration> age;              ///< since its start, if its launcher answered
  std::string problem;                      ///< why a launcher did not answer
  std::vector<NodeView> nodes;              ///< in order of rank if the launcher reported it, then by name
  uid_t user = detail::ControlPeer{}.user;  ///< of its processes; -1 if unknown
  std::vector<std::string> launchers = {};  ///< ControlName::node of each; several: each of its parts here has one
  [[nodiscard]] bool all_answer() const;
};

/// Combines the answers of launchers (to "nodes") and nodes (to "status"), by user and cluster id: what another user's
/// process says belongs to no cluster of this one, whatever id it gives itself. A process that could not be asked,
/// whose user is unknown, counts to the cluster of its id if there is one only. Includes nodes that only others report.
[[nodiscard]] std::vector<ClusterView> views_of(const std::vector<ControlAnswer>& answers);

/// Returns whether its processes are known to be of another user. Only root sees such clusters; what they say of
/// themselves, also their names, is whatever that user likes.
[[nodiscard]] bool is_of_another_user(const ClusterView& cluster);

/// Returns whether `word` names this cluster: by its name, its id or a prefix of it, or its cluster file. An empty word
/// names every cluster.
[[nodiscard]] bool is_meant(const ClusterView& cluster, std::string_view word);

/// The number of peers shown for each node.
enum class PeersShown { busiest, all };

/// Returns three tables: the nodes; the pending and kept items on each node by peer; the traffic between them.
[[nodiscard]] std::string text_of(const ClusterView& cluster, PeersShown peers);

/// Returns a JSON array of all `clusters`, on one line.
[[nodiscard]] std::string json_of(const std::vector<ClusterView>& clusters);

}  // namespace troupe
