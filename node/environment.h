// A process's place in its cluster, from the environment variables of its launcher.
//
//   troupe up         TROUPE_SEED and its companions, all of them
//   torchrun-style    MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, LOCAL_WORLD_SIZE if it is set, and
//                     TROUPE_SECRET_FILE or TROUPE_KEY_FILE, which a world of one does without; rank 0 listens at
//                     MASTER_PORT, or at TROUPE__CLUSTER__PORT, which torchrun needs where it takes MASTER_PORT itself
//   none              a world of one
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/calls/call_grants.h"
#include "node/config/settings.h"

namespace troupe {

/// The source of the cluster's secret; see ClusterSecret::from_descriptor and from_file.
struct SecretSource {
  enum class Kind : std::uint8_t { none, descriptor, file };
  Kind kind = Kind::none;
  int descriptor = -1;
  std::filesystem::path file;
};

/// The identity of this process and the addresses of its cluster.
struct NodeEnvironment {
  std::string cluster;     ///< its name; empty in a world of one
  std::string cluster_id;  ///< the same for all nodes of one run
  std::string name;        ///< of this node
  std::string role;        ///< the name without the index
  int index = 0;           ///< within the role
  int rank = 0;            ///< within the world; rank 0 is the seed
  int world_size = 1;
  std::vector<std::string> world;  ///< all names in order of rank; empty if known at the rendezvous only
  std::string seed_address;        ///< where rank 0 listens; empty in a world of one
  std::string bind_address;  ///< where this node listens, "tcp://127.0.0.1:*" = any port; empty in a world of one, and
                             ///< if the seed is on another machine: then the interface from which the seed is
                             ///< reached
  SecretSource secret;
  std::string key_file;                ///< has secret, keys and cluster id, see node/keys/key_files.h; empty: none
  std::string members_file;            ///< who is in; empty: "cluster.members" beside key_file
  std::optional<int> keys_descriptor;  ///< inherited, with this node's key ring; nullopt: no keys
  int math_threads = 1;                ///< resolved, at least 1
  bool shows_bars = false;             ///< the reader of our output lets a line that ends in \r replace itself
  CallGrants call_grants;              ///< which peers may call which functions of this node
  NodeSettings settings;
};

/// A variable is missing or invalid; the text names it and its value.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Returns the number of cores that this process may use, at least 1: those that it may run on, and no more than its
/// control group has the time of.
[[nodiscard]] int available_cores();

/// Returns whether a terminal can replace what it shows, as bars need: not if TERM is "dumb".
[[nodiscard]] bool can_move_back(const Variables& variables);

/// Returns the place that `variables` describe. Throws EnvironmentError.
[[nodiscard]] NodeEnvironment read_environment(const Variables& variables = process_variables());

}  // namespace troupe
