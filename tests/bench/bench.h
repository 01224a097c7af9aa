// Helpers that the process benchmarks share: resource use of a process, and nodes that run this program again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "node/launch/child_process.h"
#include "node/launch/process_guard.h"
#include "node/node.h"
#include "tests/bench/figures.h"

namespace troupe::bench {

/// User + system time of a running process in seconds, and its resident memory in MiB.
struct Usage {
  double cpu_s = 0;
  double resident_mib = 0;
};
[[nodiscard]] Usage usage_of(pid_t pid);

/// Measures idle processes for 2 s. Returns the number of cores that they use together.
[[nodiscard]] double idle_cores(const std::vector<pid_t>& processes);

/// Returns the options of this process's node, the first of its world. `serial` separates the worlds of one run.
/// `transport` is "ipc" or "tcp".
[[nodiscard]] NodeOptions first_node(const NodeName& name, const std::string& transport, int serial);

/// Returns this program as node `names[rank]` of the world of `first`, whose address is `seed`.
[[nodiscard]] detail::ChildSpec other_node(const NodeOptions& first, const std::string& seed,
                                           const std::vector<NodeName>& names, std::size_t rank);

/// The amount of measuring: `--quick` is the short form that the tests run.
enum class Effort { quick, full };

/// Calls `work` with this process as the first of `nodes`, and the others as processes, all with `functions`.
void with_nodes(const NodeOptions& first, const std::vector<NodeName>& nodes, const FunctionRegistry& functions,
                const detail::ProcessGuard& guard, const std::function<void(Node& node)>& work);

/// Main function of a process benchmark: runs `measure` in the first process, and a node with `functions` in the
/// others.
int run(int argc, char** argv, const FunctionRegistry& functions,
        const std::function<void(Effort, const detail::ProcessGuard&)>& measure);

}  // namespace troupe::bench
