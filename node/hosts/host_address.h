// The addresses at which the nodes of a host are reached by those of others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "node/config/settings.h"

namespace troupe::detail {

/// Looks up names, with the system's resolver unless said otherwise: one that does not answer takes its time for each.
struct NameLookup {
  std::function<void(std::string_view name)> before = {};            ///< is told each name before it is looked up
  std::function<std::string(const std::string& name)> numbers = {};  ///< as numbers_of, which it is by default

  [[nodiscard]] std::string operator()(const std::string& name) const;
};

/// How the first node's address is found.
struct SeedAddressRequest {
  static constexpr std::size_t kUnknownMax = 3;  ///< names of `toward` that are not found, until no more are tried

  std::string_view address;                   ///< host or interface; empty: found
  const std::vector<std::string>& toward;     ///< names of other hosts
  std::string_view network;                   ///< as in cluster.network
  const Variables& variables;                 ///< SSH_CONNECTION: sshd says at which address it was reached
  std::string_view setting = "host.address";  ///< where `address` comes from, for errors
  NameLookup look_up = {};
};

/// Returns a numeric address of this machine that other hosts reach: `address`; or the one at which sshd was reached;
/// or the one from which packets to another host leave. Blocks as long as the system's resolver does, for kUnknownMax
/// names that it does not find at most. Throws std::invalid_argument with the reason.
[[nodiscard]] std::string seed_address(const SeedAddressRequest& request);

/// Returns the numeric address where the other nodes of a host listen: `address`, or the one from which packets to
/// `seed`, "tcp://HOST:PORT", leave. Throws as seed_address.
[[nodiscard]] std::string node_address(std::string_view address, std::string_view seed, std::string_view network,
                                       std::string_view setting = "host.address", const NameLookup& look_up = {});

/// Returns the address at which sshd was reached, the third word of SSH_CONNECTION; empty if there is none.
[[nodiscard]] std::string address_of_ssh(const Variables& variables);

}  // namespace troupe::detail
