#include "node/control/node_control.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "node/control/control_client.h"
#include "node/control/report_json.h"
#include "node/node.h"
#include "tests/support/fresh_control_name.h"
#include "tests/support/hold.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;

using testing::hold;

struct World {
  const ClusterSecret secret = ClusterSecret::random();
  const std::string id = testing::fresh_control_name().cluster_id;

  [[nodiscard]] NodeOptions options(NodeName name, std::string seed = {}) const {
    NodeOptions options;
    options.name = std::move(name);
    options.cluster_id = id;
    options.world_size = 0;
    options.seed = std::move(seed);
    options.secret = secret;
    options.control = Control::on;
    return options;
  }
  [[nodiscard]] Node join(NodeName name, std::string seed = {}) const {
    return Node::join(options(std::move(name), std::move(seed)), {{"hold", &hold}});
  }
  [[nodiscard]] std::string ask(const NodeName& name, const std::string& question) const {
    const auto answers = troupe::ask({{{id, name}, question}}, 20s);
    return answers.at(0).ok() ? answers[0].text : answers[0].problem;
  }
  [[nodiscard]] NodeReport report(const NodeName& name) const { return parse_node_report(ask(name, "status")); }
};

BOOST_FIXTURE_TEST_SUITE(node_control, World)

BOOST_AUTO_TEST_CASE(nodes_of_one_process_answer_for_themselves) {
  const Node first = join("a");
  const Node second = join("b", first.address());
  const NodeReport report = this->report("b");
  BOOST_TEST((report.phase == NodePhase::up));
  BOOST_TEST(report.rank.value() == 1U);
  BOOST_TEST((report.members == std::vector<NodeName>{"a", "b"}));
  BOOST_TEST((report.counts.node == second.info()));
  BOOST_TEST((report.age > 0s));
  BOOST_TEST(this->report("a").rank.value() == 0U);
}

BOOST_AUTO_TEST_CASE(a_report_says_how_messages_travel_to_each_peer_and_why_not_faster) {
  NodeOptions seed = options("a");
  seed.bind = "ipc://";
  const Node first = Node::join(seed, {});
  NodeOptions alone = options("b", first.address());
  alone.bind = "ipc://";
  alone.shared_memory_max = 0;
  alone.rings = false;
  const Node second = Node::join(alone, {});
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (report("a").counts.transports["b"].way != "shared memory" && std::chrono::steady_clock::now() < due)
    std::this_thread::yield();
  BOOST_TEST(report("a").counts.transports.at("b").way == "shared memory");
  BOOST_TEST(report("b").counts.transports.at("a").text() ==
             "unix sockets (no shared memory: node.shared_memory_max is 0 here; no ring: node.rings is false here)");
}

BOOST_AUTO_TEST_CASE(a_node_that_waits_to_be_let_in_can_be_asked) {
  NodeOptions seed = options("a");
  seed.world_size = 2;
  seed.bind = "ipc://@troupe-" + id;
  auto joined = std::async(std::launch::async, [&] { return Node::join(seed, {}); });
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (!detail::connect_to({id, "a"}).is_open() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST((report("a").phase == NodePhase::joining));
  NodeOptions last = options("b", seed.bind);
  last.world_size = 2;
  const Node second = Node::join(last, {});
  const Node first = joined.get();
  BOOST_TEST((report("a").phase == NodePhase::up));
}

BOOST_AUTO_TEST_CASE(a_stack_names_the_call_that_waits_and_its_line) {
  const Node first = join("a");
  const Node second = join("b", first.address());
  const int line = __LINE__ + 1;
  const Future<void> call = first.rpc_async("b", &hold);
  const StackReport report = parse_stack_report(ask("a", "stack"));
  BOOST_TEST_REQUIRE(report.stack.calls.size() == 1U);
  BOOST_TEST(report.stack.calls[0].operation == "rpc hold");
  BOOST_TEST(report.stack.calls[0].peer == "b");
  BOOST_TEST(report.stack.calls[0].site == "node_control_test.cc:" + std::to_string(line));
  BOOST_TEST((report.node.phase == NodePhase::up));
  call.cancel();
}

BOOST_AUTO_TEST_CASE(an_unknown_question_is_answered_with_an_error) {
  const Node node = join("a");
  BOOST_TEST(ask("a", "shutdown") == json_of_error("it does not know this question"));
}

BOOST_AUTO_TEST_CASE(a_node_whose_name_is_taken_goes_on_without) {
  const Node first = join("a");
  const World other;
  NodeOptions same = other.options("a");
  same.cluster_id = id;
  const Node second = Node::join(same, {});
  BOOST_TEST(second.info().name == "a");
  BOOST_TEST((report("a").age > 0s));
}

BOOST_AUTO_TEST_CASE(nobody_can_be_asked_who_did_not_want_it_or_is_gone) {
  NodeOptions off = options("off");
  off.control = Control::off;
  const Node silent = Node::join(off, {});
  BOOST_TEST(ask("off", "status") == "no process answers there any more");
  {
    Node node = join("a");
    static_cast<void>(node.stop());
    BOOST_TEST(ask("a", "status") == json_of_error("it has shut down"));
  }
  BOOST_TEST(ask("a", "status") == "no process answers there any more");
}

BOOST_AUTO_TEST_CASE(serving_and_leaving_nodes_say_so) {
  Node first = join("a");
  Node second = join("b", first.address());
  auto serving = std::async(std::launch::async, [&] { first.serve(); });
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (report("a").phase != NodePhase::serving && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST((report("a").phase == NodePhase::serving));
  BOOST_TEST((report("b").phase == NodePhase::up));
  second.shutdown();
  serving.get();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
