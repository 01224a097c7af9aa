// Processes that do what no shell does.
#include "node/launch/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "node/environment.h"
#include "node/launch/process_guard.h"
#include "tests/support/has_landlock.h"

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

BOOST_AUTO_TEST_CASE(a_launcher_may_open_what_the_system_allows_and_its_nodes_what_it_was_given) {
  rlimit given{};
  BOOST_TEST_REQUIRE(getrlimit(RLIMIT_NOFILE, &given) == 0);
  const rlimit few{200, given.rlim_max};
  BOOST_TEST_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  {
    const ProcessGuard guard;
    rlimit raised{};
    getrlimit(RLIMIT_NOFILE, &raised);
    BOOST_TEST(raised.rlim_cur == given.rlim_max);
    ChildSpec spec;
    spec.program = "/bin/sh";
    spec.arguments = {"-c", "ulimit -n"};
    ChildProcess child(spec, std::span<const std::byte>(), guard);
    pollfd said{child.output(Output::out).get(), POLLIN, 0};
    BOOST_TEST_REQUIRE(::poll(&said, 1, 10'000) == 1);
    char text[16]{};
    BOOST_TEST(::read(said.fd, text, sizeof text - 1) == 4);
    BOOST_TEST(std::string(text) == "200\n");
  }
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  BOOST_TEST(after.rlim_cur == 200U);
  BOOST_TEST(setrlimit(RLIMIT_NOFILE, &given) == 0);
}

BOOST_AUTO_TEST_CASE(no_thread_of_a_confined_program_reaches_the_memory_of_others,
                     *boost::unit_test::precondition(troupe::testing::has_landlock) *
                         boost::unit_test::label("attack") * boost::unit_test::label("S16")) {
  const ProcessGuard guard;
  for (const std::string confined : {"false", "true"}) {
    ChildSpec spec;
    spec.program = "/bin/sh";
    spec.arguments = {"-c", "(exec 3<>/proc/$PPID/mem) 2>/dev/null && printf open || printf shut"};
    spec.environment = {{"TROUPE__NODE__CONFINED", confined}};
    ChildProcess child(spec, std::span<const std::byte>(), guard);
    pollfd said{child.output(Output::out).get(), POLLIN, 0};
    BOOST_TEST_REQUIRE(::poll(&said, 1, 10'000) == 1);
    char text[8]{};
    BOOST_TEST(::read(said.fd, text, sizeof text - 1) == 4);
    BOOST_TEST_CONTEXT("confined " << confined) {
      if (confined == "true") BOOST_TEST(std::string(text) == "shut");
      else BOOST_WARN_MESSAGE(std::string(text) == "open", "the system allows it nobody: this test shows nothing");
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
