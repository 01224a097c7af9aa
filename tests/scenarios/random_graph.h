// Random programs whose graphs span nodes. Everything that a program does follows from its seed: the same seed with all
// names placed on one node must give the same gradients, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/function_registry.h"
#include "node/node.h"

namespace troupe::testing {

struct GraphScript {
  std::uint64_t seed = 0;
  std::uint32_t statements = 0;
  std::uint32_t depth = 0;       ///< of nested calls
  DType dtype = DType::f32;      ///< of all variables
  std::vector<NodeName> places;  ///< the node of each name; the program runs on the first
  bool uses_parallel = true;     ///< the pass that follows is a round of the program's group
  template <class Archive>
  void serialize(Archive& ar) {
    ar(seed, statements, depth, dtype, places, uses_parallel);
  }
};

/// Several nodes that run the same program with different numbers: its parallel layer has a replica on each.
struct GraphGroup {
  std::vector<NodeName> members;  ///< empty: a layer like any other
  std::size_t rank = 0;           ///< of the program in the group; its numbers depend on it
  bool splits = true;             ///< pipelines split what they get, and may recompute
};

/// How often each kind of statement occurred, over many programs.
using StatementCounts = std::map<std::string, int>;

struct GraphOutcome {
  std::map<std::string, Tensor> gradients;  ///< by the name of the leaf; a leaf that no gradient reached is missing
  StatementCounts counts;                   ///< of the program itself, without the functions that it calls
};

/// Runs a program on `node`: parameters and modules on several names; statements, among them pipelines, and calls of
/// functions that are such programs themselves; one or two passes from one to three roots.
[[nodiscard]] GraphOutcome run_graph(Node& node, const GraphScript& script, const GraphGroup& group);

/// Returns the functions that the programs call, for all nodes.
[[nodiscard]] FunctionRegistry random_graph_functions();

}  // namespace troupe::testing
