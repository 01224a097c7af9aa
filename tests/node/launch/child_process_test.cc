// Processes that do what no shell does.
#include "node/launch/child_process.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <thread>

#include "node/environment.h"
#include "node/launch/process_guard.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(moving_child, *boost::unit_test::disabled())

/// Not a test: a process that leaves its group for that of its parent, says so and ends only by a signal.
BOOST_AUTO_TEST_CASE(leave_the_group) {
  if (setpgid(0, getpgid(getppid())) != 0 || ::write(STDERR_FILENO, "!", 1) != 1) return;
  while (true) pause();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(child_process)

BOOST_AUTO_TEST_CASE(a_process_that_leaves_its_group_gets_signals) {
  ChildSpec spec;
  spec.program = "/proc/self/exe";
  spec.arguments = {"--run_test=moving_child"};
  spec.environment = process_variables();
  const ProcessGuard guard;
  ChildProcess child(spec, std::span<const std::byte>(), guard);
  pollfd said{child.output(Output::err).get(), POLLIN, 0};
  BOOST_TEST_REQUIRE(::poll(&said, 1, 10'000) == 1);
  BOOST_TEST(getpgid(child.pid()) == getpgid(0));
  child.send(SIGKILL);
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::optional<ExitStatus> end;
  while (!(end = child.try_end()) && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(end.has_value());
  kill(child.pid(), SIGKILL);  // of no effect if it has ended
}

BOOST_AUTO_TEST_SUITE_END()
