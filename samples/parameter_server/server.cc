// The server: makes and owns the network and runs what trainers ask for, until all that are left have finished.
#include "node/node.h"
#include "samples/command_line.h"
#include "samples/parameter_server/served.h"
#include "samples/program.h"

using namespace troupe;

int run(int argc, char** argv) {
  samples::CommandLine line("Owns the network of the parameter server; `troupe up cluster.toml` starts it.");
  if (const auto status = line.parse(argc, argv)) return *status;

  constexpr std::uint64_t kSeed = 1;
  Node node = Node::join(NodeOptions::from_environment(), samples::server_functions());
  node.node_local<samples::DigitNet>(samples::kNet, [] { return samples::DigitNet(kSeed); });
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
