// What a caller sees when the node that it called dies: one call is being served then, one comes later.
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "actors/scope.h"
#include "node/local_cluster.h"
#include "samples/program.h"

using namespace troupe;

/// Works until nobody waits for the result any more.
void slow(Scope& scope) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, scope.stop_token(), [] { return false; });
}

void report(const Future<void>& call) {
  try {
    call.get();
  } catch (const RemoteError& error) {
    std::cout << error.what() << std::endl;
  }
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"slow", &slow}};
  LocalCluster cluster({"trainer", "ps0"}, functions);
  const Node& trainer = cluster.node("trainer");

  const Future<void> under_way = trainer.rpc_async("ps0", &slow);
  cluster.kill("ps0");
  report(under_way);
  report(trainer.rpc_async("ps0", &slow));
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
