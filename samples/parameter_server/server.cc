// The server: owns the network and runs what trainers ask for, until all that are left have finished.
#include "node/node.h"
#include "samples/parameter_server/served.h"
#include "samples/program.h"

using namespace troupe;

int run(int /*argc*/, char** /*argv*/) {
  Node node = Node::join(NodeOptions::from_environment(), samples::server_functions());
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
