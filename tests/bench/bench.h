// What the process benchmarks share: the use of a process, nodes that are this program again.
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

/// User + system time of a process that runs, in seconds, and its resident memory in MiB.
struct Usage {
  double cpu_s = 0;
  double resident_mib = 0;
};
[[nodiscard]] Usage usage_of(pid_t pid);

/// Watches processes for 2 s while nobody calls and returns how many cores they use together.
[[nodiscard]] double idle_cores(const std::vector<pid_t>& processes);

/// Options of the node in this process, the first of its world; `serial` keeps worlds of one run apart.
/// `transport` is "ipc" or "tcp".
[[nodiscard]] NodeOptions first_node(const NodeName& name, const std::string& transport, int serial);

/// This program again as node `names[rank]` of the world of `first`, whose address is `seed`.
[[nodiscard]] detail::ChildSpec other_node(const NodeOptions& first, const std::string& seed,
                                           const std::vector<NodeName>& names, std::size_t rank);

/// How much to measure: `--quick` is the short form that the tests run.
enum class Effort { quick, full };

/// The main function of a process benchmark: `measure` in the first process, a node that serves `functions` in the
/// others.
int run(int argc, char** argv, const FunctionRegistry& functions,
        const std::function<void(Effort, const detail::ProcessGuard&)>& measure);

}  // namespace troupe::bench
