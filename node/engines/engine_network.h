// How the nodes of a step reach each other: as the cluster file says, and as the engine has spread them over hosts.
#pragma once

#include <string>
#include <vector>

#include "node/config/config.h"
#include "node/engines/engine_place.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Where one node listens, and how its messages are protected.
class EngineNetwork {
 public:
  /// Makes transport and network of `config` those of a step on several hosts, if `place` says so: tcp, with keys
  /// unless the file says that the network is trusted. Throws ConfigError for what contradicts itself, or is for
  /// `troupe up`.
  EngineNetwork(ClusterConfig& config, const EnginePlace& place);

  /// Returns whether nodes need keys.
  [[nodiscard]] bool encrypts() const { return encrypts_; }

  /// Rank 0: decides where it listens, keeps the port until the node listens there, and returns the address at which
  /// others reach it. `hosts`: names of the other hosts. Blocks as long as the system's resolver does. Throws
  /// ConfigError; std::invalid_argument if no address is known that other hosts reach.
  [[nodiscard]] std::string listen_first(const std::string& cluster_id, const std::vector<std::string>& hosts);

  /// Returns where this node listens. Rank 0: REQUIRES listen_first. Throws as listen_first.
  [[nodiscard]] std::string address(const std::string& cluster_id, const std::string& name,
                                    const std::string& seed) const;

  /// Returns rank 0's reservation of its port, to be inherited by its program; others have none.
  [[nodiscard]] const FileDescriptor& reservation() const { return reservation_; }

 private:
  [[nodiscard]] std::string first_host(const std::vector<std::string>& hosts) const;

  const ClusterConfig& config_;
  const EnginePlace& place_;
  std::string listen_;  ///< one host: the numeric address for all nodes
  bool encrypts_ = false;
  std::string first_bind_;
  FileDescriptor reservation_;
};

struct InterfaceAddress {
  std::string numbers;
  bool is_ipv6 = false;
};

/// Returns the only address of IPv4; without any of IPv4 the only one of IPv6; empty if there is none, or several.
[[nodiscard]] std::string only_of(const std::vector<InterfaceAddress>& addresses);

/// Returns only_of() of the addresses at which other machines reach this one.
[[nodiscard]] std::string only_address();

}  // namespace troupe::detail
