// Page 7 of the guide: nodes that find each other over TCP. Here both run in one process.
#include <iostream>

#include "samples/program.h"
#include "troupe.h"

using namespace troupe;

std::string greeting(Scope& scope) { return "served by " + scope.node_name(); }
void forget_everything() {}

/// What both hosts say alike.
NodeOptions options_of(const NodeName& name, const ClusterSecret& secret) {
  NodeOptions options;
  options.name = name;
  options.secret = secret;
  options.world_size = 0;  // do not wait for others
  return options;
}

int run(int /*argc*/, char** /*argv*/) {
  const FunctionRegistry functions{{"greeting", &greeting}, {"forget_everything", &forget_everything}};
  const ClusterSecret secret = ClusterSecret::random();

  NodeOptions first = options_of("alpha", secret);
  first.bind = "tcp://127.0.0.1:*";  // on a real host: its address, and .keys
  first.call_grants.allow("beta", {"greeting"});
  const Node alpha = Node::join(first, functions);

  NodeOptions second = options_of("beta", secret);
  second.seed = alpha.address();  // where any member listens
  const Node beta = Node::join(second, functions);

  std::cout << beta.rpc_sync("alpha", &greeting) << ", of " << beta.members().size() << " members" << std::endl;

  try {
    beta.rpc_sync("alpha", &forget_everything);
  } catch (const RemoteError& error) {
    std::cout << name_of(error.code()) << ": " << error.error().message << std::endl;
  }

  NodeOptions stranger = options_of("gamma", ClusterSecret::random());
  stranger.seed = alpha.address();
  try {
    const Node gamma = Node::join(stranger, functions);
  } catch (const RemoteError& error) {
    std::cout << "another secret: " << name_of(error.code()) << std::endl;
  }
  return 0;
}

int main(int argc, char** argv) { return samples::run_program(run, argc, argv); }
