// Page 16 of the guide: what takes how long, on all nodes.
#include <algorithm>
#include <iostream>
#include <string>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

Variable layer(const Variable& x, const Variable& w) { return relu(matmul(x, w)); }

Variable two_layers(Scope& scope, NodeName other, Variable x, Variable w) {
  const ProfileSpan span(scope, "two layers");
  return layer(scope.rpc_sync(other, &layer, x, w), w);
}

int run(int argc, char** argv) {
  const FunctionRegistry functions{{"layer", &layer}, {"two_layers", &two_layers}};
  LocalCluster cluster({"trainer", "front", "back"}, functions);
  const Node& trainer = cluster.node("trainer");
  const Variable x(ones({64, 64}));
  const Variable w(full({64, 64}, 0.01), RequiresGrad::yes);

  Profiler profiler(trainer, {.inputs = true});
  for (int step = 0; step < 10; ++step) {
    const DistContext context(profiler);
    backward(context, sum(context.rpc_sync("front", &two_layers, "back", x, w)));
  }
  const Profile profile = profiler.stop();
  std::cerr << profile.table();
  if (argc > 1) profile.save_trace(argv[1]);

  for (const char* node : {"front", "back"}) {
    const auto products = std::ranges::count_if(profile.events, [&](const ProfileEvent& event) {
      return event.node == node && event.kind == EventKind::kernel && event.name == "matmul";
    });
    std::cout << node << ": " << products << " products forwards and backwards" << std::endl;
  }
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
