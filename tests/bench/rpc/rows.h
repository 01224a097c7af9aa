// The rows of the benchmark of calls that are compared with PyTorch's RPC. peer.py has the same rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "node/node.h"
#include "tests/bench/figures.h"

namespace troupe::bench {

struct RpcRow {
  std::string name;             ///< "identity/4MB"; its first word is its family, which weighs one in the summary
  std::vector<NodeName> nodes;  ///< this one first
  /// Makes what the row needs, and returns the function that runs some iterations.
  std::function<std::function<Timing(std::int64_t iterations)>(Node& node)> make;
};

[[nodiscard]] std::vector<RpcRow> rpc_rows();

/// The functions that the rows call.
[[nodiscard]] FunctionRegistry with_rpc_rows(const FunctionRegistry& functions);

}  // namespace troupe::bench
