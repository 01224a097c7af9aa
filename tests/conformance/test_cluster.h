// A cluster for tests: all nodes in this process, or one process per node over unix sockets, TCP, TCP with keys, or
// that as between hosts. Every test runs on all five: `conformance_test -- local|ipc|tcp|keys|hosts` selects one.
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
#include "tests/support/error_of.h"

namespace troupe::testing {

enum class Backend {
  local,
  ipc,
  tcp,
  keys,   ///< tcp with a key ring for each node: as they are on one host, they share memory
  hosts,  ///< the same, but they share nothing
};
std::ostream& operator<<(std::ostream& out, Backend backend);

/// Returns the backend that the command line names after "--"; local by default.
[[nodiscard]] Backend backend_of_this_run();

/// Nodes over TCP with different options.
struct ProcessPlan {
  std::vector<NodeProcessOptions> others;  ///< the cluster sets seed and world size
  NodeOptions trainer = {};                ///< the cluster sets name, cluster, secret and seed
};

/// The node "trainer", which runs the test in this process, and other nodes that serve until it ends.
/// REQUIRES: created on the main thread, because its processes end with the thread that created them.
class TestCluster {
 public:
  /// Returns when all nodes are connected to each other. Each serves functions_of(its name). If `log_level` is given,
  /// it is set for all nodes, and no other cluster may exist. `leaks` applies to the trainer.
  explicit TestCluster(std::vector<NodeName> others, PoolOptions pool = {}, Backend backend = backend_of_this_run(),
                       Leaks leaks = Leaks::warn, std::string log_level = {});

  /// Each node serves functions_of(its name), in a process with the options of `plan`.
  explicit TestCluster(ProcessPlan plan);

  /// Shuts all nodes down together, within 10 s. The test case fails if a node does not end cleanly by itself.
  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  [[nodiscard]] Node& trainer();

  /// Returns the nodes besides the trainer that were not killed.
  [[nodiscard]] const std::vector<NodeName>& others() const { return others_; }

  /// Ends a node without a goodbye: kills its process with SIGKILL.
  void kill(std::string_view name);

  /// Sends `signal` to the node's process. REQUIRES: not a local cluster.
  void signal(std::string_view name, int signal);

  /// Returns the process of a node. REQUIRES: not a local cluster.
  [[nodiscard]] const NodeProcess& process(std::string_view name);

  /// Starts another life of a killed node. REQUIRES: not a local cluster.
  void restart(const NodeName& name);

  /// Returns the node's own counts, without the request and the call that fetch them.
  [[nodiscard]] Counts counts(std::string_view name);

  /// Waits until `holds` is true of the node's counts. The test case fails after 5 s.
  void await(std::string_view name, const std::function<bool(const Counts&)>& holds);

  /// Waits, as await(), until the node serves this many calls.
  void await_calls(std::string_view name, std::uint64_t calls);

  /// Waits, as await(), until no node owns a value or context, holds a reference, serves a call or awaits an answer.
  void expect_settled();

 private:
  struct Nodes;
  struct LocalNodes;
  struct ProcessNodes;

  std::vector<NodeName> others_;
  const std::string log_level_;
  std::unique_ptr<Nodes> nodes_;
};

/// Suite fixture: one cluster of "trainer" and p1 to p4, for all tests that leave it unchanged.
struct SharedCluster {
  SharedCluster();
  ~SharedCluster();
};

/// Test fixture: the shared cluster, which must be idle again after the test.
struct OnSharedCluster {
  OnSharedCluster();
  ~OnSharedCluster();
  OnSharedCluster(const OnSharedCluster&) = delete;
  OnSharedCluster& operator=(const OnSharedCluster&) = delete;

  TestCluster& cluster;
  Node& trainer;
};

}  // namespace troupe::testing

namespace troupe {
// For Boost.Test.
std::ostream& boost_test_print_type(std::ostream& out, ErrorCode code);
std::ostream& boost_test_print_type(std::ostream& out, Execution execution);
}  // namespace troupe
