// Page 13 of the guide: your functions on a network that loses messages, in virtual time.
#include <iostream>

#include "node/sim/world.h"
#include "samples/program.h"
#include "troupe.h"

using namespace troupe;
using namespace std::chrono_literals;

int squared(int x) { return x * x; }

/// What the program under test does on node "caller".
int sum_of_squares(const Node& node) {
  int sum = 0;
  for (int i = 1; i <= 10; ++i) sum += node.rpc_sync("callee", &squared, i);
  return sum;
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"squared", &squared}};
  int right = 0, failed = 0, other = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::World world({.seed = seed, .link = {.drop = 0.1, .reorder = 0.2}}, {"caller", "callee"}, functions);
    const Future<int> sum = world.on("caller", [](Node& node) { return sum_of_squares(node); });
    if (seed % 2 == 0) world.kill_after(5, "callee");
    const std::optional<Result<int>> result = sum.get_for(300s);  // of virtual time
    if (result && !*result) ++failed;
    else if (result && result->value() == 385) ++right;
    else ++other;
  }
  std::cout << right << " right answers, " << failed << " errors, " << other << " wrong or missing" << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
