#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>

#include "node/sim/world.h"
#include "troupe.h"

troupe::Variable project(const troupe::Variable& x, const troupe::Variable& w) { return matmul(x, w); }

int doubled(int x) { return 2 * x; }

int in_a_simulated_world() {
  troupe::sim::World world({}, {"caller", "callee"}, {{"doubled", &doubled}});
  return world.on("caller", [](troupe::Node& node) { return node.rpc_sync("callee", &doubled, 21); }).get();
}

int main() {
  if (in_a_simulated_world() != 42) std::cout << "the simulated call gives another number\n";

  const troupe::FunctionRegistry functions{{"project", &project}};
  troupe::LocalCluster cluster({"trainer", "ps0"}, functions, {.leaks = troupe::Leaks::fail});
  const troupe::Variable x(troupe::from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const troupe::Variable w(troupe::from_values<float>({1, 2, 3}, {3, 1}));
  const troupe::Variable y = cluster.node("trainer").rpc_sync("ps0", &project, x, w);
  // 1*1 + 2*2 + 3*3 and 4*1 + 5*2 + 6*3
  for (const float value : y.value().data<float>()) std::cout << value << '\n';

  // Reports name the source lines of the library's user.
  troupe::Node& trainer = cluster.node("trainer");
  const auto held = trainer.remote("ps0", &project, x, w);
  const std::string line = __FILE__ ":" + std::to_string(__LINE__ - 1);
  try {
    static_cast<void>(trainer.shutdown(std::chrono::milliseconds(1)));
    std::cout << "what is held is not told\n";
  } catch (const std::logic_error& leak) {
    if (!line.starts_with('/') || !std::string(leak.what()).ends_with("made at " + line))
      std::cout << "not at " << line << ": " << leak.what() << '\n';
  }
}
