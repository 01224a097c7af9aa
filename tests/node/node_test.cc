// The end of a node that one of its own functions ends or wants to end.
#include "node/node.h"

#include <boost/test/unit_test.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/future.h"
#include "actors/op.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"

extern char** environ;

namespace troupe {
namespace {

using namespace std::chrono_literals;
using detail::WaitPoint;
using testing::error_of;

TimePoint in(Duration time) { return std::chrono::steady_clock::now() + time; }

/// What functions without arguments do, and say. Set by the test's thread before it calls them.
struct Stage {
  Node* node = nullptr;
  WaitPoint stopped;
  WaitPoint go_on;
  std::optional<ShutdownReport> report;  // the function's, until `ended`
  Duration took{};                       // as `report`
  std::atomic<bool> ended = false;
  std::vector<Error> refused;  // the function's, until it is answered
};
std::shared_ptr<Stage> stage;

void stop_node() {
  const std::shared_ptr<Stage> here = stage;
  const TimePoint begin = std::chrono::steady_clock::now();
  here->report = here->node->stop();
  here->took = std::chrono::steady_clock::now() - begin;
  here->stopped.signal();
  here->go_on.wait_here(in(10s));
  here->ended = true;
}

void stop_node_that_is_stopping() {
  const std::shared_ptr<Stage> here = stage;
  here->stopped.signal();
  while (!here->node->core().stopped()) std::this_thread::yield();
  here->report = here->node->stop();
  here->ended = true;
}

/// Returns the errors of shutdown() and serve().
std::vector<Error> errors_of_leaving(Node& node) {
  const Error of_shutdown = error_of([&] { return node.shutdown(1ms); });
  return {of_shutdown, error_of([&] { return node.serve(), 0; })};
}

/// Does not end before the process.
void wait_for_go_on() {
  const std::shared_ptr<Stage> here = stage;
  here->stopped.signal();
  here->go_on.wait_here(in(60s));
}

int one() { return 1; }
void leave() { stage->refused = errors_of_leaving(*stage->node); }

FunctionRegistry functions() {
  return {{"stop_node", &stop_node},
          {"stop_node_that_is_stopping", &stop_node_that_is_stopping},
          {"leave", &leave},
          {"wait_for_go_on", &wait_for_go_on},
          {"one", &one}};
}

Node join_alone() {
  NodeOptions options;
  options.name = "a";
  options.bind = "ipc://";
  return Node::join(options, functions());
}

/// Returns whether the node serves a function that every node serves.
bool serves(const Node& node) { return node.rpc_sync("a", op::add, ones({1}), 1.0).item() == 2.0; }

Node* left = nullptr;  // by exit_with_a_node(), to what it registers
constexpr int kServed = 42;

BOOST_AUTO_TEST_SUITE(ends_of_a_node)

BOOST_AUTO_TEST_CASE(a_node_whose_function_stops_it_is_destroyed_once_that_has_ended) {
  const auto here = stage = std::make_shared<Stage>();
  {
    Node node = join_alone();
    here->node = &node;
    const Future<void> call = node.rpc_async("a", &stop_node);
    BOOST_TEST((error_of([&] { return node.serve(), 0; }).code == ErrorCode::shutting_down));
    BOOST_TEST((error_of([&] { return call.get(), 0; }).code == ErrorCode::shutting_down));
    here->go_on.signal();
  }
  BOOST_TEST_REQUIRE(here->ended.load());
  BOOST_TEST(here->report->clean());  // it does not name the function itself
  BOOST_TEST((here->took < 1900ms));
}

BOOST_AUTO_TEST_CASE(a_destructor_waits_for_the_function_that_has_stopped_the_node) {
  const auto here = stage = std::make_shared<Stage>();
  {
    Node node = join_alone();
    here->node = &node;
    static_cast<void>(node.rpc_async("a", &stop_node));
    BOOST_TEST(here->stopped.wait(in(10s)));
    here->go_on.signal();
  }
  BOOST_TEST(here->ended.load());
}

BOOST_AUTO_TEST_CASE(a_stop_and_a_function_that_stops_do_not_wait_for_each_other) {
  const auto here = stage = std::make_shared<Stage>();
  Node node = join_alone();
  here->node = &node;
  static_cast<void>(node.rpc_async("a", &stop_node_that_is_stopping));
  BOOST_TEST(here->stopped.wait(in(10s)));
  const TimePoint begin = std::chrono::steady_clock::now();
  BOOST_TEST(node.stop().clean());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 1900ms));
  BOOST_TEST_REQUIRE(here->ended.load());
  BOOST_TEST(here->report->clean());
}

BOOST_AUTO_TEST_CASE(a_node_that_has_stopped_waits_for_no_members) {
  Node node = join_alone();
  node.stop();
  BOOST_TEST((error_of([&] { node.wait_for_members(2, 10s); }).code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(what_a_node_runs_cannot_wait_for_the_end_of_all) {
  const auto here = stage = std::make_shared<Stage>();
  LocalCluster cluster({"a", "b"}, functions());
  Node& a = cluster.node("a");
  here->node = &a;
  cluster.node("b").rpc_sync("a", &leave);
  const Error& refused = here->refused.at(0);
  BOOST_TEST((refused.code == ErrorCode::bad_argument));
  BOOST_TEST(refused.message ==
             "shutdown() was called by a function, a callback or a handler that a runs, for whose end it would wait");
  BOOST_TEST(refused.hint.find("stop()") != std::string::npos);
  BOOST_TEST((refused.execution == Execution::never));
  BOOST_TEST((here->refused.at(1).code == ErrorCode::bad_argument));
  BOOST_TEST(here->refused.at(1).message.starts_with("serve() was called by "));
  const Future<std::size_t> then = a.rpc_async("b", &one).then([&a](int) { return errors_of_leaving(a).size(); });
  BOOST_TEST(then.get() == 2U);
  std::promise<std::size_t> told;
  a.on_down([&](const Peer&, const Error&) { told.set_value(errors_of_leaving(a).size()); });
  cluster.kill("b");
  BOOST_TEST(told.get_future().get() == 2U);
  BOOST_TEST(a.shutdown().clean());  // the program's own thread may
}

/// Checks that handlers which hold the node end with it, also those that come after its end.
template <class End>
void check_that_handlers_let_go(Node& node, const End& end) {
  const auto held = std::make_shared<int>(0);
  const auto handler = [held, scope = Scope(node)](const Peer&, const Error&) {};
  node.on_down(handler);
  BOOST_TEST(held.use_count() == 3);
  end(node);
  BOOST_TEST(held.use_count() == 2);
  node.on_down(handler);
  BOOST_TEST(held.use_count() == 2);
}

BOOST_AUTO_TEST_CASE(handlers_that_hold_a_node_end_with_it) {
  const auto stop = [](Node& node) { static_cast<void>(node.stop()); };
  const auto shut_down = [](Node& node) { static_cast<void>(node.shutdown()); };
  std::vector<std::weak_ptr<detail::NodeCore>> cores;
  {
    LocalCluster cluster({"a"}, functions());
    cores.push_back(cluster.node("a").core().weak_from_this());
    check_that_handlers_let_go(cluster.node("a"), stop);
  }
  for (const auto& end : {std::function<void(Node&)>(stop), std::function<void(Node&)>(shut_down)}) {
    Node node = join_alone();
    cores.push_back(node.core().weak_from_this());
    check_that_handlers_let_go(node, end);
  }
  {
    Node node = join_alone();
    cores.push_back(node.core().weak_from_this());
    node.on_down([scope = Scope(node)](const Peer&, const Error&) {});
  }
  for (const auto& core : cores) BOOST_TEST(core.expired());
}

BOOST_AUTO_TEST_CASE(handler_may_be_the_owner_of_its_node) {
  auto node = std::make_shared<Node>(join_alone());
  const std::weak_ptr<detail::NodeCore> core = node->core().weak_from_this();
  Node& there = *node;
  there.on_down([owned = std::move(node)](const Peer&, const Error&) {});
  BOOST_TEST(there.stop().clean());
  BOOST_TEST(core.expired());
}

/// Runs that test case in a process of its own. Returns its exit status; -1 if a signal ended it.
int exit_status_of(const std::string& test_case) {
  std::vector<std::string> words{"test", "--run_test=exit_with_a_node/" + test_case};
  const std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t process = 0;
  BOOST_REQUIRE(::posix_spawn(&process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0);
  int status = 0;
  BOOST_REQUIRE(::waitpid(process, &status, 0) == process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

BOOST_AUTO_TEST_CASE(a_node_serves_while_its_process_exits) { BOOST_TEST(exit_status_of("child") == kServed); }

BOOST_AUTO_TEST_CASE(a_process_exits_in_time_without_the_shutdown_of_its_static_node,
                     *boost::unit_test::label("fault-F30")) {
  const TimePoint begin = std::chrono::steady_clock::now();
  BOOST_TEST(exit_status_of("child_with_a_static_node") == kServed);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 30s));  // the node has two of them
}

BOOST_AUTO_TEST_CASE(forked_child_is_told_that_the_node_is_its_parents_and_ends_which_goes_on,
                     *boost::unit_test::label("fault-F30")) {
  auto node = std::make_unique<Node>(join_alone());
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {  // reports by its exit status, because the test's report is the parent's
    ::alarm(10);
    const auto is_refused = [](const auto& use) {
      const Error error = error_of(use);
      return error.code == ErrorCode::shutting_down && error.execution == Execution::never &&
             error.message == "the node a belongs to the process from which this one was forked";
    };
    const bool refused = is_refused([&] { return node->shutdown().clean(); }) &&
                         is_refused([&] { return node->stop().clean(); }) &&
                         is_refused([&] { return node->serve(), 0; });
    node.reset();  // as when a program that owns it ends
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0);
  BOOST_TEST(node->rpc_sync("a", &one) == 1);
  BOOST_TEST(node->shutdown().clean());
}

/// Of an error that says that the node is not of this process.
bool is_of_parent(const Error& error) {
  return error.code == ErrorCode::shutting_down &&
         error.message.ends_with(" belongs to the process from which this one was forked");
}

BOOST_AUTO_TEST_CASE(calls_and_waits_in_a_forked_child_fail_and_the_parent_goes_on,
                     *boost::unit_test::label("fault-F30")) {
  const auto here = stage = std::make_shared<Stage>();
  NodeOptions options;
  options.world_size = 0;
  options.grows = true;
  options.name = "a";
  options.bind = "ipc://";
  std::optional<Node> a(Node::join(options, functions()));
  options.name = "b";
  options.seed = a->address();
  Node b = Node::join(options, functions());
  a->wait_for_members(2, 10s);
  RRef<int> value = a->remote("b", &one);
  BOOST_TEST(value.to_here(*a) == 1);  // over shared memory
  const Future<void> pending = a->rpc_async("b", &wait_for_go_on);
  const Future<int> next = pending.then([] { return 1; });
  BOOST_REQUIRE(here->stopped.wait(in(10s)));
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {  // reports by its exit status, because the test's report is the parent's
    ::alarm(10);
    int step = 1;
    const auto check = [&](bool passed) {
      if (!passed) ::_exit(step);
      ++step;
    };
    const auto is_refused = [](const auto& use) {
      const Error error = error_of(use);
      return is_of_parent(error) && error.execution == Execution::never;
    };
    check(is_refused([&] { return a->rpc_sync("b", &one); }));
    check(is_refused([&] { return a->rpc_sync("a", &one); }));
    check(is_refused([&] { return a->with({.deadline = 1ms}).rpc_sync("b", &one); }));
    check(is_refused([&] { return value.to_here(*a); }));
    check(is_refused([&] { return a->wait_for_members(3, 1h), 0; }));
    check(is_of_parent(error_of([&] { return pending.get(), 0; })));
    check(is_of_parent(error_of([&] { return next.get(); })));
    check(is_of_parent(error_of([&] { return a->rpc_async("b", &one).then([](int x) { return x; }).get(); })));
    value = {};
    a.reset();
    ::_exit(0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == 0, "step " << WEXITSTATUS(status));
  here->go_on.signal();
  BOOST_TEST(next.get() == 1);
  BOOST_TEST(value.to_here(*a) == 1);
  BOOST_TEST(a->rpc_sync("b", &one) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(exit_with_a_node, *boost::unit_test::disabled())

// A process of its own, for the case above.
BOOST_AUTO_TEST_CASE(child) {
  std::atexit([] { std::_Exit(serves(*left) ? kServed : EXIT_FAILURE); });  // after the end of what is made below
  left = std::make_unique<Node>(join_alone()).release();
  BOOST_REQUIRE(serves(*left));
  std::exit(EXIT_SUCCESS);
}

// As above. A function that does not end is under way.
BOOST_AUTO_TEST_CASE(child_with_a_static_node) {
  ::alarm(40);
  stage = std::make_shared<Stage>();
  static Node node = join_alone();
  stage->node = &node;
  static_cast<void>(node.rpc_async("a", &wait_for_go_on));
  BOOST_REQUIRE(stage->stopped.wait(in(10s)));
  std::exit(kServed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
