// The server: owns the parts of the model that the trainer made here, and serves until it has finished.
#include "node/node.h"
#include "samples/language_model/served.h"
#include "samples/program.h"

using namespace troupe;

int run(int /*argc*/, char** /*argv*/) {
  Node node = Node::join(NodeOptions::from_environment(), samples::server_functions());
  node.serve();
  node.shutdown();
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
