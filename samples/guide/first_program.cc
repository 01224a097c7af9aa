// Page 1 of the guide: a function that runs on another node.
#include <iostream>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

Tensor scaled(const Tensor& x, double factor) { return x * factor; }

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"scaled", &scaled}};
  LocalCluster cluster({"here", "there"}, functions);
  const Node& here = cluster.node("here");

  const Tensor y = here.rpc_sync("there", &scaled, ones({3}), 2.0);
  std::cout << "y = " << y << std::endl;

  const Future<Tensor> later = here.rpc_async("there", &scaled, y, 5.0);
  std::cout << "meanwhile this thread is free" << std::endl;
  std::cout << "sum = " << sum(later.get()).item() << std::endl;
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
