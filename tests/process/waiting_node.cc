// A node of status_test: one node has a value at the other, calls it and waits; the other is called and does not
// answer. Both run until they are killed.
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "actors/rref.h"
#include "node/node.h"

namespace {

using namespace troupe;

void hold(Scope& scope) {
  std::cout << "holding\n" << std::flush;  // one write, because another thread may print at the same time
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, scope.stop_token(), [] { return false; });
}

int seven() { return 7; }

}  // namespace

int main() {
  Node node = Node::join(NodeOptions::from_environment(), {{"hold", &hold}, {"seven", &seven}});
  if (node.info().rank == 0) node.serve();
  const RRef<int> value = node.remote("callee", &seven);
  value.created(node).get();
  try {
    node.remote("callee", &seven).created(node).get();
  } catch (const RemoteError& error) {
    std::cout << error.error().message << std::endl;
  }
  node.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("callee", &hold);
}
