// How nodes find each other over sockets, and the errors if they do not.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "node/links/zmq_link_socket.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(join)

using namespace std::chrono_literals;
using boost::unit_test::label;

struct World {
  const ClusterSecret secret = ClusterSecret::random();

  [[nodiscard]] NodeOptions options(NodeName name, std::uint32_t world_size, std::string seed = {}) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = "join";
    options.world_size = world_size;
    options.seed = std::move(seed);
    options.secret = secret;
    options.join_deadline = 5s;
    return options;
  }
  [[nodiscard]] static Node join(const NodeOptions& options) { return Node::join(options, functions_of(options.name)); }
};

/// Returns a name that is known before the first node exists.
std::string fresh_socket() {
  static std::atomic<int> count = 0;
  return fmt::format("ipc://@troupe-join-{}-{}", getpid(), ++count);
}

/// Waits until `node` sees `count` members, itself included.
void await_members(const Node& node, std::size_t count) {
  const auto due = std::chrono::steady_clock::now() + 5s;
  while (node.members().size() != count && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST_REQUIRE(node.members().size() == count);
}

BOOST_AUTO_TEST_CASE(newcomer_and_those_who_are_there_call_each_other, *label("I-21") * label("I-22")) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  const Node second = World::join(world.options("b", 0, first.address()));
  BOOST_TEST(second.rpc_sync("a", &where) == "a");
  const Node third = World::join(world.options("c", 0, first.address()));
  third.rpc_sync("b", &await_world, 3U);
  BOOST_TEST(second.rpc_sync("c", &where) == "c");
  BOOST_TEST(first.rpc_sync("c", &where) == "c");
}

BOOST_AUTO_TEST_CASE(function_is_served_once_the_world_is_complete_and_may_call_everybody, *label("I-01")) {
  const World world;
  Node first = World::join(world.options("a", 0));
  std::vector<std::future<void>> serving;
  const auto serve = [&world, seed = first.address()](const char* name) {
    World::join(world.options(name, 3, seed)).serve();
  };
  serving.push_back(std::async(std::launch::async, serve, "b"));
  await_members(first, 2);
  const Future<Tensor> sum = first.rpc_async("b", &add_on, "c", ones({1}), 1.0);
  const RRef<Tensor> kept = first.remote("b", &add_on, "c", ones({1}), 2.0);
  BOOST_TEST(!sum.get_for(50ms).has_value());
  serving.push_back(std::async(std::launch::async, serve, "c"));
  BOOST_TEST(sum.get().item() == 2.0);
  BOOST_TEST(kept.to_here(first).item() == 3.0);
  BOOST_TEST(first.shutdown(5s).clean());
  for (auto& one : serving) one.get();
}

BOOST_AUTO_TEST_CASE(join_waits_until_the_world_is_complete) {
  const World world;
  NodeOptions first = world.options("a", 3);
  first.bind = fresh_socket();
  std::vector<std::future<std::size_t>> joined;
  for (const char* name : {"c", "b"}) {  // before the seed has started
    joined.push_back(std::async(std::launch::async, [&world, name, seed = first.bind] {
      Node node = World::join(world.options(name, 3, seed));
      const std::size_t members = node.members().size();
      node.serve();
      return members;
    }));
  }
  Node node = World::join(first);
  BOOST_TEST(node.members().size() == 3U);
  BOOST_TEST(node.shutdown().clean());
  for (auto& members : joined) BOOST_TEST(members.get() == 3U);
}

BOOST_AUTO_TEST_CASE(join_that_runs_out_of_time_says_who_is_there, *label("fault-F31")) {
  const World world;
  NodeOptions options = world.options("a", 3);
  options.join_deadline = 100ms;
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::timeout);
  BOOST_TEST(error.message == "1 of 3 nodes are there: a; no seed given: this is the first node");
}

BOOST_AUTO_TEST_CASE(second_node_of_a_name_is_refused_and_the_first_goes_on, *label("I-04") * label("fault-F43")) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  const Node second = World::join(world.options("b", 0, first.address()));
  for (const char* name : {"a", "b"}) {
    const Error error = error_of([&] { return World::join(world.options(name, 0, first.address())); });
    BOOST_TEST(error.code == ErrorCode::name_in_use, error.text());
  }
  BOOST_TEST(first.rpc_sync("b", &where) == "b");
  BOOST_TEST(second.rpc_sync("a", &where) == "a");
}

// Of two that come at once the second is refused, or displaces the first before that is up.
BOOST_AUTO_TEST_CASE(world_with_one_name_twice_is_complete_for_nobody, *label("I-05")) {
  const World world;
  NodeOptions first = world.options("a", 3);
  first.bind = fresh_socket();
  const NodeOptions twice = world.options("b", 3, first.bind);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::future<ErrorCode>> ends;
  for (const NodeOptions& options : {first, twice, twice})
    ends.push_back(
        std::async(std::launch::async, [options] { return error_of([&] { return World::join(options); }).code; }));
  std::map<ErrorCode, int> reasons;
  for (auto& end : ends) ++reasons[end.get()];
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 8s));  // they have 5 s to join
  BOOST_TEST(reasons[ErrorCode::name_in_use] <= 1);
  BOOST_TEST(reasons[ErrorCode::timeout] >= 1);  // whose time to join is over first
  const int see_it_leave = reasons[ErrorCode::shutting_down] + reasons[ErrorCode::peer_down];
  BOOST_TEST(reasons[ErrorCode::name_in_use] + reasons[ErrorCode::timeout] + see_it_leave == 3);
}

BOOST_AUTO_TEST_CASE(second_start_is_refused_and_the_first_works_on_until_its_shutdown, *label("I-06")) {
  const World world;
  NodeOptions options = world.options("a", 0);
  options.bind = "ipc://";
  Node first = World::join(options);
  options = world.options("b", 0, first.address());
  options.bind = fresh_socket();
  Node second = World::join(options);
  BOOST_TEST(error_of([&] { return World::join(options); }).code == ErrorCode::resource_exhausted);  // the address
  options.bind.clear();
  BOOST_TEST(error_of([&] { return World::join(options); }).code == ErrorCode::name_in_use);
  BOOST_TEST(second.rpc_sync("a", &square, 5) == 25);
  BOOST_TEST(first.remote("b", &square, 6).to_here(first) == 36);
  auto serving = std::async(std::launch::async, [&second] { return second.shutdown(); });
  BOOST_TEST(first.shutdown().clean());
  BOOST_TEST(serving.get().clean());
}

BOOST_AUTO_TEST_CASE(default_deadline_that_a_node_was_given_is_read_and_used, *label("I-18")) {
  const World world;
  NodeOptions options = world.options("a", 0);
  options.call_deadline = 7s;
  const Node first = World::join(options);
  options = world.options("b", 0, first.address());
  const Node second = World::join(options);
  BOOST_TEST((first.time_left() == Duration(7s)));
  BOOST_TEST((second.time_left() == Duration(60s)));
  const auto given = first.rpc_sync("b", &time_left_ms);
  BOOST_TEST(given.value() > 1'000);
  BOOST_TEST(given.value() <= 7'000);
  BOOST_TEST(second.rpc_sync("a", &time_left_ms).value() > 50'000);
  // A nested call of that node's function has the deadline too, where its caller sets no limit.
  const auto nested = second.with({.deadline = Deadline::while_peer_lives()}).rpc_sync("a", &time_left_on, "b");
  BOOST_TEST(nested.value() > 1'000);
  BOOST_TEST(nested.value() <= 7'000);
}

BOOST_AUTO_TEST_CASE(name_is_free_again_when_its_node_has_ended_and_all_see_each_new_life) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  const Node other = World::join(world.options("c", 0, first.address()));
  std::set<Incarnation> lives;
  for (int life = 0; life < 3; ++life) {
    const Node second = World::join(world.options("ps-0", 0, first.address()));  // other systems use "-" as a separator
    lives.insert(second.core().incarnation());
    BOOST_TEST(second.rpc_sync("a", &square, life) == life * life);
    second.rpc_sync("c", &await_world, 3U);
    BOOST_TEST(other.rpc_sync("ps-0", &where) == "ps-0");
    BOOST_TEST((other.infos() == std::vector<WorkerInfo>{{"a", 0}, {"c", 1}, {"ps-0", 2}}));
    const auto seen = other.members();
    BOOST_TEST(std::ranges::count(seen, second.core().incarnation(), &Peer::incarnation) == 1);
  }
  BOOST_TEST(lives.size() == 3U);
}

BOOST_AUTO_TEST_CASE(newcomers_of_a_world_without_a_size_take_part_in_barriers_and_gradients) {
  const World world;
  const Node a = World::join(world.options("a", 0));
  const Node b = World::join(world.options("b", 0, a.address()));
  const Node c = World::join(world.options("c", 0, a.address()));
  c.rpc_sync("b", &await_world, 3U);
  std::vector<std::future<void>> barrier;
  for (const Node* node : {&a, &b, &c}) {
    barrier.push_back(std::async(std::launch::async, [node] { static_cast<void>(node->group().barrier(*node)); }));
  }
  for (auto& met : barrier) met.get();
  const RRef<Variable> w = c.remote("b", &echo_variable, Variable(full({1}, 3.0), RequiresGrad::yes));
  const Variable x(full({1}, 2.0), RequiresGrad::yes);
  DistContext context(c);
  backward(context, sum(context.rpc_sync("b", &times, x, w)));
  BOOST_TEST(context.grad(x).item() == 3.0);
}

BOOST_AUTO_TEST_CASE(node_with_another_secret_is_refused, *label("fault-F44")) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  const World other;
  const Error error = error_of([&] { return World::join(other.options("b", 0, first.address())); });
  BOOST_TEST(error.code == ErrorCode::auth_failed, error.text());
}

BOOST_AUTO_TEST_CASE(worlds_of_different_sizes_do_not_mix, *label("I-25")) {
  const World world;
  NodeOptions options = world.options("a", 2);
  options.bind = fresh_socket();
  auto first = std::async(std::launch::async, [&] { return World::join(options); });
  const Error error = error_of([&] { return World::join(world.options("b", 4, options.bind)); });
  BOOST_TEST(error.code == ErrorCode::bad_argument, error.text());
  BOOST_TEST(error.message == "b expects a world of 4, this is one of 2");
  const Node second = World::join(world.options("b", 2, options.bind));
  BOOST_TEST(first.get().members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(complete_world_takes_no_more) {
  const World world;
  NodeOptions options = world.options("a", 2);
  options.bind = fresh_socket();
  auto second = std::async(std::launch::async, [&] { return World::join(world.options("b", 2, options.bind)); });
  const Node first = World::join(options);
  const Node kept = second.get();
  const Error error = error_of([&] { return World::join(world.options("c", 2, options.bind)); });
  BOOST_TEST(error.code == ErrorCode::resource_exhausted);
  BOOST_TEST(error.message == "the world of 2 is complete");
}

BOOST_AUTO_TEST_CASE(ranks_are_those_that_were_wanted_and_everybody_knows_them, *label("I-01") * label("I-02")) {
  const World world;
  NodeOptions first = world.options("a", 3);
  first.bind = fresh_socket();
  first.rank = 1;
  std::vector<std::future<std::vector<WorkerInfo>>> joined;
  for (const auto& [name, rank] : {std::pair{"c", 0U}, std::pair{"b", 2U}}) {
    joined.push_back(std::async(std::launch::async, [&world, name = name, rank = rank, seed = first.bind] {
      NodeOptions options = world.options(name, 3, seed);
      options.rank = rank;
      Node node = World::join(options);
      BOOST_TEST((node.info() == WorkerInfo{name, rank}));
      std::vector<WorkerInfo> infos = node.infos();
      node.serve();
      return infos;
    }));
  }
  Node node = World::join(first);
  const std::vector<WorkerInfo> infos{{"c", 0}, {"a", 1}, {"b", 2}};
  BOOST_TEST((node.infos() == infos));
  BOOST_TEST(node.info(2).name == "b");
  BOOST_TEST(node.shutdown().clean());
  for (auto& seen : joined) BOOST_TEST((seen.get() == infos));
}

BOOST_AUTO_TEST_CASE(ranks_are_given_by_arrival_where_none_is_wanted) {
  const World world;
  const Node first = World::join(world.options("z", 0));
  BOOST_TEST((first.info() == WorkerInfo{"z", 0}));
  NodeOptions third = world.options("x", 0, first.address());
  third.rank = 2;
  const Node x = World::join(third);
  const Node a = World::join(world.options("a", 0, first.address()));
  BOOST_TEST((a.info() == WorkerInfo{"a", 1}));
  BOOST_TEST((a.infos() == std::vector<WorkerInfo>{{"z", 0}, {"a", 1}, {"x", 2}}));
}

BOOST_AUTO_TEST_CASE(rank_that_is_taken_or_out_of_range_is_refused) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  NodeOptions options = world.options("b", 0, first.address());
  options.rank = 0;
  const Error taken = error_of([&] { return World::join(options); });
  BOOST_TEST(taken.code == ErrorCode::bad_argument);
  BOOST_TEST(taken.message == "b wants rank 0: a has it");

  NodeOptions pair = world.options("p", 2);
  pair.bind = fresh_socket();
  pair.rank = 2;
  const Error outside = error_of([&] { return World::join(pair); });
  BOOST_TEST(outside.code == ErrorCode::bad_argument);
  BOOST_TEST(outside.message == "p wants rank 2: out of range in a world of 2");
}

BOOST_AUTO_TEST_CASE(any_member_lets_newcomers_in_also_when_the_first_has_left, *label("I-21")) {
  const World world;
  std::optional<Node> first = World::join(world.options("a", 0));
  const Node second = World::join(world.options("b", 0, first->address()));
  const Node third = World::join(world.options("c", 0, second.address()));  // b passes the join request on to a
  BOOST_TEST(third.rpc_sync("a", &where) == "a");
  BOOST_TEST(third.info().rank == 2U);
  first.reset();
  await_members(second, 2);
  await_members(third, 2);
  const Node fourth = World::join(world.options("d", 0, third.address()));  // c passes the join request on to b
  BOOST_TEST(fourth.info().rank == 0U);
  BOOST_TEST(fourth.rpc_sync("b", &where) == "b");
  BOOST_TEST((fourth.infos() == std::vector<WorkerInfo>{{"d", 0}, {"b", 1}, {"c", 2}}));
}

BOOST_AUTO_TEST_CASE(role_is_the_one_given_or_the_name_without_its_index) {
  const World world;
  NodeOptions options = world.options("chief", 0);
  options.role = "trainer";
  const Node chief = World::join(options);
  const Node helper = World::join(world.options("trainer7", 0, chief.address()));
  BOOST_TEST((helper.role("trainer").names() == std::vector<NodeName>{"chief", "trainer7"}));
}

BOOST_AUTO_TEST_CASE(names_that_are_none_are_refused, *label("I-08")) {
  const World world;
  for (const std::string& name :
       {std::string(), std::string(128, 'x'), std::string("a/b"), std::string("a b"), std::string("\xc3\xa9")}) {
    BOOST_TEST(error_of([&] { return World::join(world.options(name, 1)); }).code == ErrorCode::invalid_name);
  }
  BOOST_TEST(World::join(world.options(std::string(127, 'x'), 1)).name().size() == 127U);
}

BOOST_AUTO_TEST_CASE(address_in_use_is_said_at_once) {
  const World world;
  const Node first = World::join(world.options("a", 1));
  NodeOptions options = world.options("b", 1);
  options.bind = first.address();
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::resource_exhausted);
  BOOST_TEST(error.message.find(first.address()) != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(address_that_others_could_reach_is_refused_with_the_key_that_opens_it) {
  const World world;
  for (const char* place : {"tcp://0.0.0.0:*", "tcp://*:*", "tcp://[::]:*", "tcp://10.1.2.3:*",
                            "tcp://[::ffff:10.1.2.3]:*", "tcp://167838211:*"}) {
    NodeOptions options = world.options("a", 1);
    options.bind = place;
    const Error error = error_of([&] { return World::join(options); });
    BOOST_TEST(error.code == ErrorCode::not_authorized, error.text());
    BOOST_TEST(error.hint == kTrustHint);
  }
}

BOOST_AUTO_TEST_CASE(seed_on_another_machine_is_refused_at_once_unless_the_network_is_trusted) {
  const World world;
  const Error error = error_of([&] { return World::join(world.options("a", 2, "tcp://10.1.2.3:5")); });
  BOOST_TEST(error.code == ErrorCode::not_authorized, error.text());
  BOOST_TEST(error.message == "the seed tcp://10.1.2.3:5 is on another machine");
  BOOST_TEST(error.hint == kTrustHint);
}

BOOST_AUTO_TEST_CASE(node_that_listens_everywhere_must_say_where_it_is_called) {
  const World world;
  NodeOptions options = world.options("a", 1);
  options.network = Network::trusted;
  options.bind = "tcp://*:*";
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::bad_argument, error.text());
  options.link_options["advertise"] = "tcp://lo:*";
  BOOST_TEST(World::join(options).address().starts_with("tcp://127.0.0.1:"));
}

BOOST_AUTO_TEST_CASE(localhost_and_an_interface_are_addresses) {
  const World world;
  NodeOptions options = world.options("a", 0);
  options.bind = "tcp://localhost:*";
  const Node first = World::join(options);
  BOOST_TEST(first.address().starts_with("tcp://127.0.0.1:"));
  options = world.options("b", 0, "tcp://localhost" + first.address().substr(first.address().rfind(':')));
  options.bind = "tcp://lo:*";
  const Node second = World::join(options);
  BOOST_TEST(second.rpc_sync("a", &where) == "a");
  BOOST_TEST(first.rpc_sync("b", &where) == "b");
}

/// A path for a rendezvous file that does not exist yet.
struct FileWorld : World {
  [[nodiscard]] NodeOptions options(NodeName name, std::uint32_t world_size) const {
    return World::options(std::move(name), world_size, "file:" + path.string());
  }
  TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "rendezvous";
};

BOOST_AUTO_TEST_CASE(nodes_that_start_at_once_with_one_file_are_one_world) {
  for (const char* listen : {"ipc://", "tcp://127.0.0.1:*"}) {
    const FileWorld world;
    std::vector<std::future<std::size_t>> nodes;
    for (int i = 0; i < 8; ++i) {
      nodes.push_back(std::async(std::launch::async, [&world, i, listen] {
        NodeOptions options = world.options(fmt::format("n{}", i), 8);
        options.bind = listen;
        Node node = World::join(options);
        const std::size_t members = node.infos().size();
        node.serve();
        return members;
      }));
    }
    for (auto& members : nodes) BOOST_TEST(members.get() == 8U);
  }
}

BOOST_AUTO_TEST_CASE(newcomer_finds_in_the_file_who_is_left_and_a_new_cluster_takes_it_over) {
  const FileWorld world;
  std::optional<Node> first = World::join(world.options("a", 0));
  std::optional<Node> second = World::join(world.options("b", 0));
  BOOST_TEST(second->rpc_sync("a", &where) == "a");
  first.reset();
  await_members(*second, 1);
  std::optional<Node> third = World::join(world.options("c", 0));
  BOOST_TEST(third->rpc_sync("b", &where) == "b");
  second.reset();
  third.reset();
  const Node fourth = World::join(world.options("d", 0));  // the names of dead nodes in the file do not matter
  BOOST_TEST(fourth.members().size() == 1U);
  const Node fifth = World::join(world.options("e", 0));
  BOOST_TEST(fifth.rpc_sync("d", &where) == "d");
}

BOOST_AUTO_TEST_CASE(file_of_another_cluster_is_refused_by_name) {
  const FileWorld world;
  const Node first = World::join(world.options("a", 0));
  NodeOptions options = world.options("b", 0);
  options.cluster_id = "another";
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message ==
             fmt::format("the rendezvous file {} belongs to cluster \"join\", whose node a listens at {}; this node is "
                         "of cluster \"another\"",
                         world.path.string(), first.address()));
}

BOOST_AUTO_TEST_CASE(file_that_names_a_former_life_is_not_followed) {
  const FileWorld world;
  NodeOptions options = world.options("a", 0);
  options.bind = fresh_socket();
  World::join(options).stop();
  options.seed.clear();
  const Node another = World::join(options);  // at the same address, and not in the file
  const Error error = error_of([&] {
    NodeOptions late = world.options("b", 0);
    late.bind = "ipc://";
    return World::join(late);
  });
  BOOST_TEST(error.code == ErrorCode::peer_restarted, error.text());
  BOOST_TEST(error.endpoint == another.address());
}

BOOST_AUTO_TEST_CASE(seed_that_is_no_node_does_not_matter_when_another_is) {
  const FileWorld world;
  NodeOptions options = world.options("a", 0);
  options.bind = "ipc://";
  options.link_options["connect_patience"] = "300ms";
  const Node first = World::join(options);
  const std::string mute = fresh_socket();
  ZmqContext context;
  const ZmqSocketLimits limits{
      .frame_bytes_max = 1 << 20, .frames_max = 100, .queue_messages_max = 100, .handshake_timeout = 2s};
  ZmqSocket nobody = ZmqSocket::open(context, ZmqSocket::Kind::router, limits).value();
  BOOST_TEST_REQUIRE(nobody.bind(mute).ok());
  std::ofstream(world.path) << "troupe-rendezvous 1 join\n"
                            << fmt::format("{:032x} mute {}\n", 7, mute)
                            << fmt::format("{:016x}{:016x} a {}\n", first.core().incarnation().high,
                                           first.core().incarnation().low, first.address());
  options.name = "b";
  const Node second = World::join(options);
  BOOST_TEST(second.rpc_sync("a", &where) == "a");

  std::ofstream(world.path) << "troupe-rendezvous 1 join\n" << fmt::format("{:032x} mute {}\n", 7, mute);
  options.name = "c";
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::peer_unreachable, error.text());
  BOOST_TEST(error.message.find(mute) != std::string::npos, error.message);
}

BOOST_AUTO_TEST_CASE(seed_may_be_a_host_name) {
  const World world;
  const Node first = World::join(world.options("a", 0));
  const std::string port = first.address().substr(first.address().rfind(':'));
  const Node second = World::join(world.options("b", 0, "tcp://localhost" + port));
  BOOST_TEST(second.rpc_sync("a", &where) == "a");
}

BOOST_AUTO_TEST_CASE(host_name_that_nobody_knows_is_named_when_the_time_to_join_is_over) {
  const World world;
  NodeOptions options = world.options("b", 0, "tcp://no-such-host.invalid:4711");
  options.join_deadline = 300ms;
  const Error error = error_of([&] { return World::join(options); });
  BOOST_TEST(error.code == ErrorCode::peer_unreachable);
  BOOST_TEST(error.message.starts_with("the host name \"no-such-host.invalid\" cannot be resolved: "), error.message);
}

BOOST_AUTO_TEST_CASE(seed_that_is_no_address_is_refused) {
  const World world;
  const Error error = error_of([&] { return World::join(world.options("b", 0, "somewhere")); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message == "the seed \"somewhere\" is no address: SCHEME://PLACE or file:PATH");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
