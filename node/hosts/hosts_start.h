// The order in which several hosts are started: all connect, then all prepare, then all start their nodes, so that a
// problem of one starts nothing on the others.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "node/hosts/remote_host.h"

namespace troupe::detail {

class HostsStart {
 public:
  static constexpr std::size_t kConnectingMax = 8;  ///< at once: sshd refuses more (MaxStartups)

  enum class Progress { going, started, failed };

  /// REQUIRES: `hosts` outlive it; one of them has the first node if nodes listen over TCP, otherwise their variables
  /// have all addresses.
  explicit HostsStart(std::vector<RemoteHost*> hosts) : hosts_(std::move(hosts)) {}

  /// Does the next steps, after hosts have changed. `secret`: of the cluster.
  [[nodiscard]] Progress advance(std::span<const std::byte> secret, HostRun::Time now);

  /// Returns whether nodes have been started. From then on hosts take signals.
  [[nodiscard]] bool has_begun() const {
    return count(RemoteHost::State::starting) + count(RemoteHost::State::running) > 0;
  }

 private:
  [[nodiscard]] std::size_t count(RemoteHost::State state) const;
  void connect_some(HostRun::Time now);

  std::vector<RemoteHost*> hosts_;
};

}  // namespace troupe::detail
