// A node of status_test: one that calls and waits, one that is called and does not answer. Both until they are ended.
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "node/node.h"

namespace {

using namespace troupe;

void hold(Scope& scope) {
  std::cout << "holding" << std::endl;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, scope.stop_token(), [] { return false; });
}

}  // namespace

int main() {
  Node node = Node::join(NodeOptions::from_environment(), {{"hold", &hold}});
  if (node.info().rank == 0) node.serve();
  node.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("callee", &hold);
}
