// A node of a test cluster in a process of its own: this program again, running the test case `node_process` only.
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
  std::string log_level = {};  ///< as it is, if empty
  std::string bind = {};       ///< where it listens; where the seed's transport likes, if empty
  std::string advertise = {};  ///< what it says of that, if not empty
  Network network = Network::loopback;
  int place = -1;           ///< descriptor of the network namespace that it is in; that of this thread, if -1
  bool joins_anew = false;  ///< when it was taken for dead, and its node has ended
  Liveness liveness = {};   ///< its lease and whether it is debugged; the rest is as everybody's
  uid_t user = 0;           ///< whom it becomes before it joins, so that its threads can be limited; nobody else, if 0
};

/// Joins the cluster and serves functions_of(name) until all are done. Ends, at the latest, when this object goes or
/// when the thread that made it does.
class NodeProcess {
 public:
  /// Returns when the process has begun, not when the node is up.
  NodeProcess(const NodeProcessOptions& options, const ClusterSecret& secret);
  ~NodeProcess();
  NodeProcess(const NodeProcess&) = delete;
  NodeProcess& operator=(const NodeProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Throws if it has ended, as `limit` does.
  void send(int signal) const;

  /// Sets a limit of the running process (RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_NPROC with a user of its own), which can be
  /// lifted again: RLIM_INFINITY.
  void limit(__rlimit_resource resource, rlim_t most) const;

  /// Sends SIGKILL and waits for the end.
  void kill();

  /// Waits for the process to end: "exit 0", "signal 9"; kills it after `patience` and says "no end".
  [[nodiscard]] std::string wait(std::chrono::milliseconds patience);

 private:
  [[nodiscard]] pid_t running() const;

  const uid_t user_;
  pid_t pid_ = -1;  // -1: has ended
  detail::FileDescriptor alive_;
};

}  // namespace troupe::testing
