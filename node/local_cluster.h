// A whole cluster in one process: for tests, samples, and programs that want actors without processes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "actors/core/reports.h"
#include "actors/function_registry.h"
#include "node/links/memory_link.h"
#include "node/node.h"

namespace troupe {

/// The settings of a LocalCluster's nodes.
struct LocalClusterOptions {
  PoolOptions pool;
  std::map<NodeName, FunctionRegistry> functions{};  ///< for nodes that serve other functions than the rest
  /// Wraps each node's link, for tests that delay or count messages; may be empty.
  std::function<std::unique_ptr<Link>(std::unique_ptr<Link>)> wrap_link = {};
  Leaks leaks = Leaks::warn;
  PeerLimits peer_limits = {};
  std::map<NodeName, CallGrants> call_grants{};  ///< of nodes that restrict their callers; of others: all may call all
  std::string log_level = {};                    ///< as NodeOptions::log_level
};

/// Nodes that reach each other through memory. All are up when the constructor returns. Thread rule: any thread may
/// call any member; the destructor ends all nodes.
class LocalCluster {
 public:
  /// Throws std::invalid_argument if a name is empty, malformed or given twice, or there is no such log level.
  LocalCluster(std::vector<NodeName> names, const FunctionRegistry& functions);
  LocalCluster(std::vector<NodeName> names, const FunctionRegistry& functions, LocalClusterOptions options);
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  /// Returns the node of that name, also after `kill`. Throws std::out_of_range if there is none.
  [[nodiscard]] Node& node(std::string_view name);

  /// Ends one node without a farewell: the others see it as they see a crash. Throws as node().
  void kill(std::string_view name);

 private:
  MemoryHub hub_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace troupe
