// A node of privileges_test: one calls the other, which starts a shell as somebody would who got code to run in it:
// first in a child, then in the place of itself.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "node/node.h"

namespace {

using namespace troupe;

/// Returns the signal that killed the shell; 0: it ran.
int start_shell() {
  const int status = std::system("exit 0");
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

void become_shell() {
  ::execl("/bin/sh", "sh", "-c", "echo a shell in the place of the node", nullptr);
  _exit(127);
}

}  // namespace

int main() {
  Node node = Node::join(NodeOptions::from_environment(), {{"start", &start_shell}, {"become", &become_shell}});
  if (node.info().rank == 0) node.serve();
  std::cout << "the shell: " << node.rpc_sync("callee", &start_shell) << std::endl;
  try {
    node.rpc_sync("callee", &become_shell);
  } catch (const RemoteError& error) {
    std::cout << "the callee: " << error.what() << std::endl;
  }
}
