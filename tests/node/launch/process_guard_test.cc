#include "node/launch/process_guard.h"

#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/process_end.h"

namespace troupe::detail {
namespace {

/// A launcher in a group of its own has one process and is killed with its group at once. Returns the process.
pid_t kill_a_launcher_with_its_group() {
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  const FileDescriptor told(ends[0]);
  FileDescriptor telling(ends[1]);
  const pid_t launcher = fork();
  if (launcher == 0) {
    setpgid(0, 0);
    const pid_t node = fork();
    if (node == 0) {
      setpgid(0, 0);
      const pid_t self = getpid();
      if (::write(telling.get(), &self, sizeof self) != sizeof self) _exit(1);
      close_range(0, ~0U, 0);
      pause();
      _exit(0);
    }
    setpgid(node, node);
    const ProcessGuard guard;
    guard.watch(node);
    kill(0, SIGKILL);
  }
  while (waitpid(launcher, nullptr, 0) < 0 && errno == EINTR) {
  }
  telling.close();
  pid_t node = -1;
  return ::read(told.get(), &node, sizeof node) == sizeof node ? node : -1;  // it may be dead before it says anything
}

BOOST_AUTO_TEST_SUITE(process_guard)

BOOST_AUTO_TEST_CASE(guard_ends_the_nodes_of_a_launcher_that_is_killed_with_its_group) {
  for (int i = 0; i < 20; ++i) {
    const pid_t node = kill_a_launcher_with_its_group();
    const testing::ProcessEnd end(node);
    if (node > 0 && end.is_open()) BOOST_TEST_REQUIRE(end.comes());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
