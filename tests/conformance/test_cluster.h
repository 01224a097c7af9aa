// A cluster for tests: all nodes in this process, or one process per node, over unix sockets or TCP. The same test
// passes on all three: `conformance_test -- local|ipc|tcp` says which.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actors/executor.h"
#include "node/node.h"
#include "tests/conformance/node_process.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {

enum class Backend { local, ipc, tcp };
std::ostream& operator<<(std::ostream& out, Backend backend);

/// The one named on the command line, after "--"; local without one.
[[nodiscard]] Backend backend_of_this_run();

/// Nodes over TCP that are not all alike.
struct ProcessPlan {
  std::vector<NodeProcessOptions> others;  ///< seed and world size are the cluster's to say
  NodeOptions trainer = {};                ///< name, cluster, secret and seed are the cluster's to say
};

/// The node "trainer", which is in this process and whose program the test is, and others that serve until it ends.
/// Make it on the thread that runs main: its processes end with the thread that made them.
class TestCluster {
 public:
  /// All nodes are up with each other when it returns. Each serves functions_of(its name), and logs from `log_level` on
  /// if one is given; then no other cluster may be there. `leaks` is the trainer's.
  explicit TestCluster(std::vector<NodeName> others, PoolOptions pool = {}, Backend backend = backend_of_this_run(),
                       Leaks leaks = Leaks::warn, std::string log_level = {});

  /// Each node serves functions_of(its name), in a process as `plan` says.
  explicit TestCluster(ProcessPlan plan);

  /// Ends all nodes together, within 10 s; the test case fails if one does not end by itself, cleanly.
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  [[nodiscard]] Node& trainer();

  /// The nodes beside the trainer, without those that were killed.
  [[nodiscard]] const std::vector<NodeName>& others() const { return others_; }

  /// Ends a node without a goodbye: its process gets SIGKILL.
  void kill(std::string_view name);

  /// Sends `signal` to the node's process. Not for local clusters.
  void signal(std::string_view name, int signal);

  /// The process of a node. Not for local clusters.
  [[nodiscard]] const NodeProcess& process(std::string_view name);

  /// Starts another life of a node that was killed. Not for local clusters.
  void restart(const NodeName& name);

  /// What the node says of itself, without the request and the call that ask.
  [[nodiscard]] Counts counts(std::string_view name);

  /// Waits until `holds` is true of the node's counts; the test case fails if that takes longer than 5 s.
  void await(std::string_view name, const std::function<bool(const Counts&)>& holds);

  /// Waits likewise until the node serves so many calls.
  void await_calls(std::string_view name, std::uint64_t calls);

  /// Waits likewise until no node owns a value or context, holds a reference, serves a call or waits for an answer.
  void expect_settled();

 private:
  struct Nodes;
  struct LocalNodes;
  struct ProcessNodes;

  std::vector<NodeName> others_;
  const std::string log_level_;
  std::unique_ptr<Nodes> nodes_;
};

/// Suite fixture: one cluster of "trainer" and p1 to p4 for all tests that leave it as it was.
struct SharedCluster {
  SharedCluster();
  ~SharedCluster();
};

/// Test fixture: the shared cluster, which must be as idle after the test as before.
struct OnSharedCluster {
  OnSharedCluster();
  ~OnSharedCluster();
  OnSharedCluster(const OnSharedCluster&) = delete;
  OnSharedCluster& operator=(const OnSharedCluster&) = delete;

  TestCluster& cluster;
  Node& trainer;
};

/// The Error that `call` throws; the test case fails if it throws none.
template <class Call>
[[nodiscard]] Error error_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const RemoteError& error) {
    return error.error();
  }
  throw std::logic_error("expected a RemoteError, nothing was thrown");
}

}  // namespace troupe::testing

namespace troupe {
// For Boost.Test.
std::ostream& boost_test_print_type(std::ostream& out, ErrorCode code);
std::ostream& boost_test_print_type(std::ostream& out, Execution execution);
}  // namespace troupe
