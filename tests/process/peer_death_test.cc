// The observations of survivors, and leftovers, when the process of a node is killed, stopped or restarted.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "tensor/create.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(peer_death)

using namespace std::chrono_literals;
using boost::unit_test::label;

const auto backends = boost::unit_test::data::make({Backend::ipc, Backend::tcp});

using Milliseconds = std::chrono::duration<double, std::milli>;

/// Ten times over each kind of socket.
BOOST_TEST_DECORATOR(*label("fault-F12"))
BOOST_DATA_TEST_CASE(kill_fails_pending_calls_with_the_name_of_the_dead_within_a_second, backends, backend) {
  TestCluster cluster({"p1", "p2"}, {}, backend);
  Node& trainer = cluster.trainer();
  for (int run = 0; run < 10; ++run) {
    const auto pending = trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_async("p1", &wait_until_stopped);
    cluster.await_calls("p1", 1);
    const auto signal = std::chrono::steady_clock::now();
    cluster.kill("p1");
    const Error error = error_of([&] { return pending.get(); });
    const Milliseconds took = std::chrono::steady_clock::now() - signal;
    BOOST_TEST(error.code == ErrorCode::peer_down);
    BOOST_TEST(error.peer == "p1");
    BOOST_TEST(error.operation == "rpc wait_until_stopped");
    BOOST_TEST(took.count() < 1000);
    BOOST_TEST(trainer.rpc_sync("p2", &square, run) == run * run);
    cluster.restart("p1");
  }
  cluster.expect_settled();
}

BOOST_TEST_DECORATOR(*label("fault-F26"))
BOOST_DATA_TEST_CASE(server_frees_what_a_killed_user_held_and_goes_on, backends, backend) {
  TestCluster cluster({"server", "user", "other"}, {}, backend);
  Node& trainer = cluster.trainer();
  const RRef<Tensor> kept = trainer.remote("server", &add, ones({1}), 1.0);
  static_cast<void>(kept.to_here(trainer));
  const Counts base{.owned_values = 1};
  cluster.await("server", [&](const Counts& counts) { return counts == base; });

  const Future<bool> held = trainer.rpc_async("user", &hold_on, "server");
  cluster.await("server", [](const Counts& counts) { return counts.owned_values == 11 && counts.contexts == 1; });
  const Future<bool> serving = trainer.rpc_async("user", &wait_on, "server");  // server waits until user ends
  cluster.await_calls("server", 1);
  cluster.kill("user");
  BOOST_TEST(error_of([&] { return held.get(); }).peer == "user");
  BOOST_TEST(error_of([&] { return serving.get(); }).peer == "user");

  cluster.await("server", [&](const Counts& counts) { return counts == base; });
  BOOST_TEST(kept.to_here(trainer).item() == 2.0);
  BOOST_TEST(trainer.rpc_sync("other", &add_on, "server", ones({1}), 4.0).item() == 5.0);
}

BOOST_DATA_TEST_CASE(call_that_may_be_made_again_reaches_the_next_life_of_its_node, backends, backend) {
  TestCluster cluster({"p1"}, {}, backend);
  Node& trainer = cluster.trainer();
  const Scope patient =
      trainer.with({.deadline = 20s,
                    .repeat = Repeat::even_if_run,
                    .retry = RetryPolicy{.attempts_max = 1000, .pause = 5ms, .pause_max = 20ms, .budget = 1000}});
  const Future<bool> lost = trainer.rpc_async("p1", &wait_until_stopped);
  cluster.await_calls("p1", 1);
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return lost.get(); }).peer == "p1");
  const Future<std::int64_t> squared = patient.rpc_async("p1", &square, 12);
  BOOST_TEST(!squared.get_for(50ms).has_value());
  cluster.restart("p1");
  BOOST_TEST(squared.get() == 144);
}

BOOST_TEST_DECORATOR(*label("fault-F15"))
BOOST_DATA_TEST_CASE(node_started_again_under_its_name_is_another_one, backends, backend) {
  TestCluster cluster({"p1"}, {}, backend);
  Node& trainer = cluster.trainer();
  const Incarnation first = trainer.core().membership().find("p1").value().incarnation;
  const RRef<Tensor> of_first = trainer.remote("p1", &add, ones({1}), 1.0);
  static_cast<void>(of_first.to_here(trainer));
  cluster.kill("p1");
  cluster.restart("p1");
  BOOST_TEST((trainer.core().membership().find("p1").value().incarnation != first));
  BOOST_TEST(trainer.rpc_sync("p1", &square, 4) == 16);
  BOOST_TEST(error_of([&] { return of_first.to_here(trainer); }).code == ErrorCode::owner_died);
  const RRef<Tensor> of_second = trainer.remote("p1", &add, ones({1}), 2.0);
  BOOST_TEST(of_second.to_here(trainer).item() == 3.0);
}

/// Nodes of this process beside a first node of its own, through which they join.
struct AmongOthers {
  [[nodiscard]] NodeOptions options(NodeName name, std::uint32_t world_size, std::string seed) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = "conformance";
    options.world_size = world_size;
    options.seed = std::move(seed);
    options.secret = secret;
    options.join_deadline = 10s;
    return options;
  }
  [[nodiscard]] Node join(const NodeName& name, std::uint32_t world_size, const std::string& seed) const {
    return Node::join(options(name, world_size, seed), functions_of(name));
  }
  /// Starts the first node, or another life of it.
  [[nodiscard]] NodeProcess start_first(std::uint32_t world_size, const std::string& seed = {}) const {
    return NodeProcess({.name = "first", .seed = seed, .world_size = world_size, .bind = address}, secret);
  }
  /// Waits until `node` sees `count` members, itself included.
  static void await_members(const Node& node, std::size_t count) {
    const auto due = std::chrono::steady_clock::now() + 10s;
    while (node.members().size() != count && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    BOOST_TEST_REQUIRE(node.members().size() == count);
  }

  const ClusterSecret secret = ClusterSecret::random();
  const std::string address = fmt::format("ipc://@troupe-first-{}", getpid());
};

BOOST_AUTO_TEST_CASE(nodes_go_on_and_let_others_in_when_the_first_one_is_killed, *label("fault-F24")) {
  const AmongOthers world;
  NodeProcess first = world.start_first(3);
  std::future<Node> joining = std::async(std::launch::async, [&] { return world.join("c", 3, world.address); });
  const Node b = world.join("b", 3, world.address);
  const Node c = joining.get();
  const Future<std::int32_t> pending = b.rpc_async("c", &answer_after, 200);
  first.kill();
  BOOST_TEST(pending.get() == 200);
  AmongOthers::await_members(b, 2);
  AmongOthers::await_members(c, 2);
  const Node d = world.join("d", 3, c.address());
  BOOST_TEST(d.rpc_sync("b", &square, 3) == 9);
}

BOOST_AUTO_TEST_CASE(join_names_the_first_node_that_is_killed_meanwhile, *label("fault-F24")) {
  const AmongOthers world;
  NodeProcess first = world.start_first(3);
  std::future<Error> joining =
      std::async(std::launch::async, [&] { return error_of([&] { return world.join("b", 3, world.address); }); });
  BOOST_TEST((joining.wait_for(500ms) == std::future_status::timeout));
  first.kill();
  const Error error = joining.get();
  if (error.code == ErrorCode::peer_unreachable) {  // on a slow machine it had not met the first node yet
    BOOST_TEST(error.text().find(world.address) != std::string::npos, error.text());
  } else {
    BOOST_TEST(error.code == ErrorCode::peer_down, error.text());
    BOOST_TEST(error.peer == "first");
  }
}

BOOST_AUTO_TEST_CASE(join_where_no_first_node_is_names_its_address, *label("fault-F24")) {
  const AmongOthers world;
  NodeOptions options = world.options("b", 2, world.address);
  options.bind = "ipc://";
  options.link_options["connect_patience"] = "300ms";
  const Error error = error_of([&] { return Node::join(options, functions_of("b")); });
  BOOST_TEST(error.code == ErrorCode::peer_unreachable, error.text());
  BOOST_TEST(error.text().find(world.address) != std::string::npos, error.text());
}

BOOST_TEST_DECORATOR(*label("fault-F15"))
BOOST_DATA_TEST_CASE(references_in_an_answer_to_a_former_life_leave_nothing, backends, backend) {
  TestCluster cluster({"p1", "p2"}, {}, backend);
  Node& trainer = cluster.trainer();
  {
    const RRef<Tensor> here(trainer, ones({1}));
    const RRef<Tensor> of_p2 = trainer.remote("p2", &add, ones({1}), 1.0);
    const auto lost = trainer.rpc_async("p1", &ask_to_give_back_too_late, "p2", std::vector{here, of_p2});
    cluster.await_calls("p2", 1);
    cluster.kill("p1");
    BOOST_TEST(error_of([&] { return lost.get(); }).peer == "p1");
    cluster.restart("p1");
    cluster.await("p2", [](const Counts& counts) { return counts.served_calls == 0; });
    BOOST_TEST(of_p2.to_here(trainer).item() == 2.0);
  }
  cluster.expect_settled();
}

/// The lease without a setting over TCP, a shorter one over unix sockets.
const auto listening = boost::unit_test::data::make({"tcp://127.0.0.1:*", "ipc://"});
const auto leases = boost::unit_test::data::make({Liveness{}.lease.count(), std::int64_t{2000}});

BOOST_TEST_DECORATOR(*label("fault-F13"))
BOOST_DATA_TEST_CASE(stopped_process_is_down_after_its_lease_and_does_not_come_back, listening ^ leases, bind, lease) {
  ProcessPlan plan;
  plan.trainer.bind = bind;
  plan.trainer.liveness.lease = std::chrono::milliseconds(lease);
  for (const char* name : {"p1", "p2"}) plan.others.push_back({.name = name, .liveness = plan.trainer.liveness});
  TestCluster cluster(plan);
  Node& trainer = cluster.trainer();
  const auto pending = trainer.with({.deadline = Deadline::while_peer_lives()}).rpc_async("p1", &wait_until_stopped);
  cluster.await_calls("p1", 1);
  const auto signal = std::chrono::steady_clock::now();
  cluster.signal("p1", SIGSTOP);
  const Error error = error_of([&] { return pending.get(); });
  const Milliseconds took = std::chrono::steady_clock::now() - signal;
  cluster.signal("p1", SIGCONT);
  BOOST_TEST(error.code == ErrorCode::peer_down);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.message.starts_with("nothing heard for "));
  BOOST_TEST(took.count() > static_cast<double>(lease - 200));
  BOOST_TEST(took.count() < static_cast<double>(lease + 1000));
  BOOST_TEST(trainer.rpc_sync("p2", &square, 3) == 9);
  BOOST_TEST(error_of([&] { return trainer.rpc_sync("p1", &square, 3); }).code == ErrorCode::peer_down);
  // It is the only node left and ends by itself: the cluster's destructor checks that.
}

BOOST_TEST_DECORATOR(*label("fault-F22"))
BOOST_DATA_TEST_CASE(death_during_shutdown_does_not_keep_the_others, backends, backend) {
  TestCluster cluster({"p1", "p2"}, {}, backend);
  Node& trainer = cluster.trainer();
  const Future<bool> busy = trainer.rpc_async("p2", &wait_on, "p1");  // prevents the joint shutdown
  cluster.await_calls("p1", 1);
  const auto asked_by_p1 = [&] { return trainer.debug_info().traffic.value().at("p1").calls_received; };
  const std::uint64_t before = asked_by_p1();
  std::jthread shutdown([&trainer] { BOOST_TEST(trainer.shutdown(20s).clean()); });
  // p1, whose name is the first, knows that the trainer is ready: it counts the work of all.
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (asked_by_p1() == before && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST_REQUIRE(asked_by_p1() > before);
  cluster.kill("p1");
  shutdown.join();
  BOOST_TEST(error_of([&] { return busy.get(); }).code == ErrorCode::peer_down);
}

/// Returns the names of our sockets that still exist in the system.
std::string sockets_left() {
  std::ifstream sockets("/proc/net/unix");
  std::string left;
  for (std::string line; std::getline(sockets, line);) {
    if (line.find(fmt::format("@troupe-conformance-{}-", getpid())) != std::string::npos) left += line + "\n";
  }
  return left;
}

BOOST_DATA_TEST_CASE(no_process_and_no_socket_is_left, backends, backend) {
  {
    TestCluster cluster({"p1", "p2", "p3"}, {}, backend);
    BOOST_TEST(sockets_left().empty() == (backend == Backend::tcp));
    cluster.kill("p2");
  }
  BOOST_TEST(waitpid(-1, nullptr, WNOHANG) == -1);  // no child, living or dead
  BOOST_TEST(sockets_left() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
