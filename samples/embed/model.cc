// The model node: owns the network that the service made there, and computes with it.
#include "node/node.h"
#include "samples/embed/remote_net.h"
#include "samples/program.h"

using namespace troupe;

int run(int /*argc*/, char** /*argv*/) {
  Node node = Node::join(NodeOptions::from_environment(), samples::model_functions());
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
