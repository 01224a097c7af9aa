// Where nodes listen that all run on this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/config/config.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

struct NetworkHere {
  std::string listen = "127.0.0.1";  ///< the numeric host, over TCP
  bool encrypts = false;             ///< with keys of this run
};

/// Returns what `config` says of nodes on this machine. What contradicts itself is added to `problems`. Blocks as long
/// as the system's resolver does.
[[nodiscard]] NetworkHere network_here(const ClusterConfig& config, std::vector<std::string>& problems);

/// Adds to `problems` that `config` has cluster.advertise: it is for one node, and all get what `config` says.
void refuse_advertise(const ClusterConfig& config, std::vector<std::string>& problems);

/// Adds to `problems` the ports that `config` names. REQUIRES: none of its nodes listens over TCP.
void refuse_ports(const ClusterConfig& config, std::vector<std::string>& problems);

struct SeedPlace {
  std::string bind;            ///< where the seed listens
  std::string reached;         ///< where others reach it
  FileDescriptor reservation;  ///< keeps the port from others until the seed listens there
};

/// Reserves the seed's port of the numeric host `listen`, or of all addresses ("*"). A port that cannot be used is
/// added to `problems`.
[[nodiscard]] SeedPlace reserve_seed(const ClusterConfig& config, const std::string& listen,
                                     std::vector<std::string>& problems);

/// Returns a node's name in the abstract namespace of unix sockets, which leaves no file behind.
[[nodiscard]] std::string ipc_address(std::string_view cluster_id, std::string_view name);

}  // namespace troupe::detail
