// Six programs whose graphs span nodes. Each has its parameters on the nodes where its names are placed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/function_registry.h"
#include "node/node.h"

namespace troupe::testing {

/// The nodes of a program's names. An empty name stands for no remote call: a plain function of the caller.
struct Places {
  std::string trainer;
  std::string ps0;
  std::string ps1;
};

/// Returns the functions that the programs call, for all nodes.
[[nodiscard]] FunctionRegistry graph_functions();

/// Gradients by the name of the leaf; a leaf that no gradient reached is missing.
using NamedGradients = std::map<std::string, Tensor>;

struct GraphShape {
  const char* name;
  /// Runs the program in a context of `node`: forward, backward, gradients.
  NamedGradients (*run)(Node& node, const Places& places);
};

/// Chain, diamond over two nodes, A->B->A, unused result, two roots of which one is remote, one variable used twice on
/// each of two callees and once here.
[[nodiscard]] const std::vector<GraphShape>& graph_shapes();

}  // namespace troupe::testing
