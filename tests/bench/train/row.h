// One row of the training benchmark: a model over several nodes, and the same one in one process. peer.py has the same
// rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/function_registry.h"
#include "node/node.h"
#include "tests/bench/figures.h"

namespace troupe::bench {

/// Trains for some iterations, and returns the seconds that they took. In an iteration every trainer has one batch.
using Train = std::function<double(std::int64_t iterations)>;

struct TrainRow {
  std::string name;                                ///< "parameter_server"
  std::vector<NodeName> nodes;                     ///< the driver first
  std::function<Train(const Node& driver)> apart;  ///< makes the model on the nodes
  std::function<Train()> alone;                    ///< makes it in this process
  bool large = false;                              ///< an iteration takes a good part of a second
};

/// Returns the seconds of `count` calls after the first two, which are not counted.
template <class Iteration>
double seconds_of_times(std::int64_t count, const Iteration& iteration) {
  for (int i = 0; i < 2; ++i) iteration();
  return seconds_of([&] {
    for (std::int64_t i = 0; i < count; ++i) iteration();
  });
}

[[nodiscard]] TrainRow parameter_server_row();
/// One trainer of the same network; the server has all layers.
[[nodiscard]] TrainRow mnist_row();
[[nodiscard]] TrainRow hybrid_row();
[[nodiscard]] TrainRow language_model_row();
/// Each batch is split into so many parts, so that both halves of the network compute.
[[nodiscard]] TrainRow pipeline_row(std::int64_t splits);

// Return the given functions and those that the nodes of these rows serve.
[[nodiscard]] FunctionRegistry with_trainers(const FunctionRegistry& functions);
[[nodiscard]] FunctionRegistry with_language_model(const FunctionRegistry& functions);
[[nodiscard]] FunctionRegistry with_halves(const FunctionRegistry& functions);

}  // namespace troupe::bench
