#include "node/sim/baton_thread.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include "actors/function_registry.h"
#include "actors/scope.h"
#include "node/node.h"
#include "node/sim/world.h"
#include "tests/support/expect_throw.h"

namespace troupe::sim {
BOOST_AUTO_TEST_SUITE(baton_thread)

namespace {

using namespace std::chrono_literals;

std::int64_t square(std::int64_t x) { return x * x; }

const FunctionRegistry& functions() {
  static const FunctionRegistry registry{{"square", &square}};
  return registry;
}

/// Standard error while it lives. It is read by one thread.
class StandardError {
 public:
  StandardError() {
    std::fflush(stderr);
    BOOST_REQUIRE(::pipe(ends_.data()) == 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    for (const int descriptor : {before_, ends_[0], ends_[1]}) ::close(descriptor);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  /// Returns the next line, without its end.
  std::string line() {
    std::string text;
    for (char next = 0; ::read(ends_[0], &next, 1) == 1 && next != '\n';) text += next;
    return text;
  }

 private:
  const int before_ = ::dup(STDERR_FILENO);
  std::array<int, 2> ends_{};
};

struct Ended {
  int status = 0;  ///< as waitpid gives it
  std::string said;
};

/// Runs that test case of the disabled suite in a process of its own, and returns what that says on standard error.
Ended ended(const std::string& test_case) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  std::array<std::string, 3> words{"test", "--run_test=baton_thread/strangers/" + test_case,
                                   "--catch_system_errors=no"};
  const std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t process = 0;
  BOOST_REQUIRE(::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended end;
  for (char next = 0; ::read(ends[0], &next, 1) == 1;) end.said += next;
  ::close(ends[0]);
  BOOST_REQUIRE(::waitpid(process, &end.status, 0) == process);
  return end;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_function_that_stops_the_world_without_a_wait_is_named) {
  World world({.seed = 31, .report_after = 10ms}, {"a", "b"}, functions());
  std::counting_semaphore<2> lock{1};  // as a mutex, but another thread may let the second function in
  std::optional<StandardError> standard_error(std::in_place);
  std::string line;
  std::thread reader([&] {
    do line = standard_error->line();
    while (!line.empty() && line.find(" a: program ") == std::string::npos);  // a slow machine may name others
    lock.release();
  });
  const auto locked_square = [&](Node& node) {
    lock.acquire();
    const std::int64_t answer = node.rpc_sync("b", &square, 3);
    lock.release();
    return answer;
  };
  const Future<std::int64_t> first = world.on("a", locked_square);
  const Future<std::int64_t> second = world.on("a", locked_square);
  const std::int64_t sum = first.get() + second.get();
  std::fputs("\n", stderr);
  reader.join();
  standard_error.reset();
  BOOST_TEST(sum == 18);
  BOOST_TEST(line.starts_with("[sim] seed 31: a: program has computed for 0.0"), line);
  BOOST_TEST(line.ends_with(" s without a wait of the runtime: a lock held over a wait, a poll of ready(), a sleep?"),
             line);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_not_positive_is_refused_and_the_longest_is_none) {
  testing::expect_throw<std::invalid_argument>([] { World({.report_after = 0ns}, {"a"}, functions()); },
                                               "[World] report_after is not positive");
  World world({.report_after = Duration::max()}, {"a"}, functions());
  BOOST_TEST(world.node("a").rpc_sync("a", &square, 3) == 9);
}

BOOST_AUTO_TEST_CASE(a_functions_own_thread_that_waits_for_a_future_ends_the_process) {
  for (const char* const child : {"waits", "waits_for_a_time"}) {
    const Ended end = ended(child);
    BOOST_TEST(WIFSIGNALED(end.status), child);
    BOOST_TEST(WTERMSIG(end.status) == SIGABRT, child);
    BOOST_TEST(end.said.starts_with("[sim] \"wait for a future\" was asked by a thread that the world does not know"),
               end.said);
  }
}

BOOST_AUTO_TEST_SUITE(strangers, *boost::unit_test::disabled())

// Processes of their own, for the case above.
BOOST_AUTO_TEST_CASE(waits) {
  ::alarm(20);
  World world({.seed = 32}, {"a", "b"}, functions());
  const Future<void> program = world.on("a", [](Node& node) {
    const Future<std::int64_t> answer = node.rpc_async("b", &square, 3);
    std::thread([&] { answer.get(); }).join();
  });
  program.get();
}

BOOST_AUTO_TEST_CASE(waits_for_a_time) {
  ::alarm(20);
  World world({.seed = 33}, {"a", "b"}, functions());
  const Future<void> program = world.on("a", [](Node& node) {
    const Future<std::int64_t> answer = node.rpc_async("b", &square, 3);
    std::thread([&] { static_cast<void>(answer.get_for(1s)); }).join();
  });
  program.get();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::sim
