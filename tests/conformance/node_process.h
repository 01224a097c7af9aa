// A node of a test cluster in a process of its own: this program again, which runs only the test case `node_process`.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "actors/executor.h"
#include "messages/ids.h"
#include "node/file_descriptor.h"
#include "node/links/secret.h"
#include "node/links/tcp_place.h"
#include "node/node.h"

namespace troupe::testing {

struct NodeProcessOptions {
  NodeName name;
  std::string seed = {};
  std::uint32_t world_size = 0;
  PoolOptions pool = {};
  std::string log_level = {};  ///< unchanged if empty
  std::string bind = {};       ///< the address at which it listens; chosen by the seed's transport if empty
  std::string advertise = {};  ///< the address that it advertises, if not empty
  Network network = Network::automatic;
  std::optional<KeyRing> keys = {};  ///< its own
  bool shares = true;                ///< false: memory with no peer, as if all were on other hosts
  int place = -1;                    ///< descriptor of its network namespace; -1: that of this thread
  bool joins_anew = false;           ///< joins again after it was declared dead and its node has ended
  Liveness liveness = {};            ///< its own lease, and whether it is debugged; other fields are the cluster's
  uid_t user = 0;  ///< user id that it takes before it joins, so that its threads can be limited; 0: none
};

/// Joins the cluster and serves functions_of(name) until the joint shutdown. The process ends at the latest with this
/// object or with the thread that created it.
class NodeProcess {
 public:
  /// Returns when the process has started, not when the node is up.
  NodeProcess(const NodeProcessOptions& options, const ClusterSecret& secret);
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Sends `signal`. Throws if the process has ended, and so does `limit`.
  void send(int signal) const;

  /// Sets a limit of the running process (RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_NPROC with a user of its own). RLIM_INFINITY
  /// removes it.
  void limit(__rlimit_resource resource, rlim_t most) const;

  /// Sends SIGKILL and waits for the process to end.
  void kill();

  /// Waits for the process to end. Returns "exit 0" or "signal 9"; after `patience` kills it and returns "no end".
  [[nodiscard]] std::string wait(std::chrono::milliseconds patience);

 private:
  [[nodiscard]] pid_t running() const;

  const uid_t user_;
  pid_t pid_ = -1;  // -1 after its end
  detail::FileDescriptor alive_;
};

}  // namespace troupe::testing
