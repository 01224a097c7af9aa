// No silent death: a process that cannot continue ends, and its peers learn of it; any other process continues.
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "node/file_descriptor.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(silence, *boost::unit_test::label("chaos"))

using namespace std::chrono_literals;
using boost::unit_test::label;
using boost::unit_test::precondition;

/// Returns the exit status of a cluster's process that ends by itself within `patience`; -1 if a signal ended it or it
/// did not end. The cluster still owns the process.
int exit_status_within(pid_t process, std::chrono::milliseconds patience) {
  const detail::FileDescriptor alive(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd polled{alive.get(), POLLIN, 0};
  siginfo_t end{};
  if (::poll(&polled, 1, static_cast<int>(patience.count())) <= 0) return -1;
  if (::waitid(P_PID, static_cast<id_t>(process), &end, WEXITED | WNOWAIT) != 0) return -1;
  return end.si_code == CLD_EXITED ? end.si_status : -1;
}

BOOST_AUTO_TEST_CASE(process_whose_router_throws_ends_by_itself_and_everybody_is_told) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .log_level = "off"}, {.name = "p2"}}});
  Node& trainer = cluster.trainer();
  const Future<bool> waiting = trainer.rpc_async("p1", &wait_until_stopped);
  const Future<bool> nested = trainer.rpc_async("p2", &wait_on, "p1");
  cluster.await_calls("p1", 2);
  const pid_t process = cluster.process("p1").pid();
  const auto broken = trainer.rpc_async("p1", &throw_in_router).get_for(5s);
  BOOST_REQUIRE(broken.has_value());
  BOOST_TEST(!broken->ok());
  BOOST_TEST(exit_status_within(process, 5s) > 0);
  for (const Future<bool>& call : {waiting, nested}) {
    const auto told = call.get_for(5s);
    BOOST_REQUIRE(told.has_value());
    BOOST_TEST(!told->ok());
  }
  BOOST_TEST(trainer.rpc_sync("p2", &square, 3) == 9);
  cluster.kill("p1");
}

// The only thread of its pool waits, and the system grants no other.
BOOST_AUTO_TEST_CASE(call_that_gets_no_thread_is_refused_and_served_once_there_are_threads_again,
                     *precondition(NeedsRoot{}) * label("privileged") * label("fault-F18")) {
  // A user id without other processes: process ids are below 2^22.
  const auto user = static_cast<uid_t>((1 << 23) + getpid());
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .pool = {.threads = 1}, .user = user}, {.name = "p2"}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_NPROC, process_use(p1.pid()).threads);
  const Future<bool> waiting = trainer.rpc_async("p1", &wait_on, "p2");
  cluster.await_calls("p2", 1);
  const Error refused = error_of([&] { return trainer.with({.deadline = 5s}).rpc_sync("p1", &square, 3); });
  BOOST_TEST(refused.code == ErrorCode::resource_exhausted);
  BOOST_TEST(refused.execution == Execution::never);
  BOOST_TEST_MESSAGE(refused.text());
  p1.limit(RLIMIT_NPROC, RLIM_INFINITY);
  BOOST_TEST(trainer.with({.deadline = 5s}).rpc_sync("p1", &square, 3) == 9);
  BOOST_TEST(waiting.cancel());
}

BOOST_AUTO_TEST_CASE(function_that_finds_no_memory_fails_its_call_and_its_node_lives,
                     *precondition(NeedsMemoryLimit{}) * label("fault-F14")) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_AS, process_use(p1.pid()).virtual_bytes + (64 << 20));
  for (int i = 0; i < 10; ++i) {
    const Error error = error_of([&] { return trainer.rpc_sync("p1", &filled, 100'000'000, 1.0); });
    BOOST_TEST(error.code == ErrorCode::resource_exhausted);
    BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
  }
  p1.limit(RLIMIT_AS, RLIM_INFINITY);
}

BOOST_AUTO_TEST_CASE(node_that_is_refused_threads_answers_all_calls_and_goes_on,
                     *precondition(NeedsRoot{}) * label("privileged")) {
  // A user id without other processes: process ids are below 2^22.
  const auto user = static_cast<uid_t>((1 << 22) + getpid());
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .pool = {.threads = 2, .threads_max = 64}, .user = user}}});
  Node& trainer = cluster.trainer();
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_NPROC, process_use(p1.pid()).threads);
  // Each call holds its thread until the trainer has answered, so each needs another thread.
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < 40; ++i) calls.push_back(trainer.rpc_async("p1", &square_often, "trainer", 5));
  int served = 0;
  for (const Future<std::int64_t>& call : calls) {
    const auto result = call.get_for(20s);
    BOOST_TEST_REQUIRE(result.has_value(), "a call has no end");
    if (*result) {
      ++served;
    } else {
      BOOST_TEST(result->error().code == ErrorCode::resource_exhausted, result->error().text());
    }
  }
  BOOST_TEST(served > 0);
  p1.limit(RLIMIT_NPROC, RLIM_INFINITY);
  BOOST_TEST(trainer.rpc_sync("p1", &square_often, "trainer", 5) == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
