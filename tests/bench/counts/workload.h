// The work whose operations are counted. A process of its own runs it, and starts the other nodes.
#pragma once

#include <cstddef>
#include <string>

#include "actors/function_registry.h"

namespace troupe::bench {

struct Workload {
  /// "none", "4B", "4MB", "400MB": calls with such a payload that return it; "none/256": so many in flight;
  /// "chain1": context, a chain of one call, backward; "fork_fetch"; "idle": nothing.
  std::string operation;
  std::string transport = "ipc";  ///< "memory": all nodes in one process; "ipc", "tcp"
  std::size_t peers = 1;
};

/// Returns the functions that the other nodes serve.
[[nodiscard]] FunctionRegistry counted_functions();

/// Main function of the process that runs `work`. It waits for a line on standard input, starts the nodes and prints a
/// line of the processes that serve. It then reads numbers, runs so many operations for each, and prints the messages
/// that they sent, if it knows them; -1 otherwise. At the end of standard input it ends the nodes and prints "ended".
int run_workload(const Workload& work);

}  // namespace troupe::bench
