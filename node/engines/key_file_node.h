// `troupe node --keys`: one node of a cluster whose keys lie in files, in whatever starts processes there: a shell,
// systemd, a pod of Kubernetes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "node/config/config.h"
#include "node/config/settings.h"

namespace troupe::detail {

/// One node of a cluster file.
struct NodePlace {
  std::size_t rank = 0;
  const RoleConfig* role = nullptr;  ///< of the configuration, never null
  int index = 0;                     ///< within the role
};

/// REQUIRES: `config` has so many nodes.
[[nodiscard]] NodePlace place_of_rank(const ClusterConfig& config, std::size_t rank);

/// Throws ConfigError, naming the nodes, if none has this name.
[[nodiscard]] NodePlace place_of_name(const ClusterConfig& config, std::string_view name);

/// Returns the place of pod "ROLE-INDEX", as a StatefulSet of Kubernetes that is named after the role calls it. Throws
/// ConfigError, naming the pods.
[[nodiscard]] NodePlace place_of_pod(const ClusterConfig& config, std::string_view pod);

}  // namespace troupe::detail

namespace troupe {

struct KeyFileOptions {
  std::string keys;     ///< the node's key file, or a directory with one "NAME.key" for each
  std::string members;  ///< the list; empty: "cluster.members" beside the key
  std::string name;     ///< of the node; empty: the one whose key it is
  std::string pod;      ///< its name in Kubernetes, instead of `name`

  [[nodiscard]] bool any() const { return !(keys.empty() && members.empty() && name.empty() && pod.empty()); }
};

namespace detail {

struct KeyFileNode {
  NodePlace place;
  std::string key_file;      ///< absolute
  std::string members_file;  ///< absolute
  std::string cluster_id;
  std::string seed;     ///< where the first node is reached
  std::string address;  ///< where this one listens; empty: on the interface from which the seed is reached
};

/// Makes transport and network of `config` those of a cluster whose nodes have key files: tcp with keys. Throws
/// ConfigError for what it lacks or contradicts; `seed_setting` names what says where the first node is.
void check_key_file_config(ClusterConfig& config, std::string_view seed_setting = "cluster.seed");

/// Returns the node at `place`, whose files are right. REQUIRES: check_key_file_config. Throws as key_file_node.
[[nodiscard]] KeyFileNode key_files_of(const ClusterConfig& config, const NodePlace& place,
                                       const KeyFileOptions& options);

/// Returns the variables that tell the node's program its place and where its files are.
[[nodiscard]] Variables variables_of(const ClusterConfig& config, const KeyFileNode& node);

/// Finds the node and its files, checks that they are right, and makes transport and network of `config` those of such
/// a cluster: tcp with keys. Throws ConfigError for what the file lacks or contradicts; std::invalid_argument for what
/// `options` lack; RemoteError for files that are not right, as NodeKeys::load.
[[nodiscard]] KeyFileNode key_file_node(ClusterConfig& config, const KeyFileOptions& options);

}  // namespace detail

}  // namespace troupe
