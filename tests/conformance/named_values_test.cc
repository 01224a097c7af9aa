// The state of a node: values with names, which are made once, found from anywhere, and held until they are released.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "actors/collect.h"
#include "node/local_cluster.h"
#include "tests/conformance/named_value_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(named_values)

namespace {

using namespace std::chrono_literals;

RRef<Counter> counter(const Scope& scope) { return scope.remote("trainer", constructor<Counter, std::int64_t>, 0); }

}  // namespace

BOOST_AUTO_TEST_SUITE(shared, *boost::unit_test::fixture<SharedCluster>())

BOOST_FIXTURE_TEST_CASE(published_value_is_found_by_name_and_used_in_turn, OnSharedCluster) {
  trainer.rpc_sync("p1", &publish_counter, "hits", 40);
  const RRef<Counter> hits = trainer.find<Counter>("p1", "hits");
  BOOST_TEST(hits.owner() == "p1");
  BOOST_TEST(hits.rpc_sync(trainer, &Counter::add, 2) == 42);
  BOOST_TEST((trainer.find<Counter>(trainer.info("p1").rank, "hits") == hits));
  BOOST_TEST(trainer.rpc_sync("p1", &unpublish_here, "hits"));
  BOOST_TEST(!trainer.rpc_sync("p1", &unpublish_here, "hits"));
  BOOST_TEST(hits.rpc_sync(trainer, &Counter::value) == 42);  // references keep it
}

BOOST_FIXTURE_TEST_CASE(find_waits_until_the_value_is_published, OnSharedCluster) {
  const Future<RRef<Counter>> later = trainer.find_async<Counter>("p1", "late");
  const Future<RRef<Counter>> here = trainer.find_async<Counter>("trainer", "late");
  BOOST_TEST(!later.get_for(50ms).has_value());
  trainer.rpc_sync("p1", &publish_counter, "late", 1);
  BOOST_TEST(later.get().rpc_sync(trainer, &Counter::value) == 1);
  trainer.publish("late", Counter(2));
  BOOST_TEST(here.get().rpc_sync(trainer, &Counter::value) == 2);
  BOOST_TEST(trainer.unpublish("late"));
  BOOST_TEST(trainer.rpc_sync("p1", &unpublish_here, "late"));
}

BOOST_FIXTURE_TEST_CASE(find_of_what_never_comes_ends_at_its_deadline_and_leaves_nothing, OnSharedCluster) {
  const Scope hasty = trainer.with({.deadline = 30ms});
  for (const char* node : {"p1", "trainer"}) {
    BOOST_TEST(error_of([&] { return hasty.find<Counter>(node, "never"); }).code == ErrorCode::timeout);
  }
  const Future<RRef<Counter>> unwanted = trainer.find_async<Counter>("p1", "never");
  BOOST_TEST(unwanted.cancel());
  const Error nowhere = error_of([&] { return trainer.find<Counter>("nobody", "never"); });
  BOOST_TEST(nowhere.code == ErrorCode::not_joined);
  BOOST_TEST(nowhere.text().find(
                 "find \"never\" on nobody: not_joined: no node of that name is in this cluster; known: ") == 0U,
             nowhere.text());
  LocalCluster alone({"alone"}, FunctionRegistry{});
  BOOST_TEST(error_of([&] { return alone.node("alone").find<Counter>("nobody", "never"); }).hint ==
             "this node is alone");
}

BOOST_FIXTURE_TEST_CASE(second_value_and_another_type_are_refused_by_name, OnSharedCluster) {
  const RRef<Counter> mine = trainer.publish("x", Counter(1));
  const Error second = error_of([&] { return trainer.publish("x", Counter(2)); });
  BOOST_TEST(second.code == ErrorCode::bad_argument);
  BOOST_TEST(second.operation == "publish \"x\"");
  BOOST_TEST(second.message == "a value is published as \"x\" already");
  const Error type = error_of([&] { return trainer.find<Fixed>("trainer", "x"); });
  BOOST_TEST(type.code == ErrorCode::bad_argument);
  BOOST_TEST(type.message.find("not troupe::testing::Fixed") != std::string::npos, type.text());
  BOOST_TEST(error_of([&] { return trainer.publish("", Counter(2)); }).code == ErrorCode::bad_argument);
  BOOST_TEST(mine.rpc_sync(trainer, &Counter::value) == 1);
  BOOST_TEST(trainer.unpublish("x"));
}

BOOST_FIXTURE_TEST_CASE(node_local_value_is_made_once_for_all_callers, OnSharedCluster) {
  const RRef<Counter> made = counter(trainer);
  std::vector<Future<RRef<Fixed>>> asked;
  for (int i = 0; i < 20; ++i) asked.push_back(trainer.rpc_async("p1", &fixed_here, "one", 100, made));
  for (const auto& one : asked) one.get().rpc_sync(trainer, &Fixed::add, 1);
  BOOST_TEST(made.rpc_sync(trainer, &Counter::value) == 1);
  const RRef<Fixed> elsewhere = trainer.rpc_sync("p2", &fixed_here, "one", 7, made);  // each node has its own
  BOOST_TEST(elsewhere.rpc_sync(trainer, &Fixed::add, 0) == 7);
  BOOST_TEST(trainer.find<Fixed>("p1", "one").rpc_sync(trainer, &Fixed::add, 0) == 120);
  for (const char* node : {"p1", "p2"}) BOOST_TEST(trainer.rpc_sync(node, &unpublish_here, "one"));
}

BOOST_FIXTURE_TEST_CASE(failure_to_make_a_value_is_that_callers_and_the_next_one_tries, OnSharedCluster) {
  const RRef<Counter> made = counter(trainer);
  const Future<RRef<Fixed>> waits = trainer.find_async<Fixed>("p1", "one");
  for (int i = 0; i < 3; ++i) {
    const Error error = error_of([&] { return trainer.rpc_sync("p1", &fixed_here, "one", -5, made); });
    BOOST_TEST(error.message == "no value of -5");
  }
  BOOST_TEST(trainer.rpc_sync("p1", &fixed_here, "one", 5, made).rpc_sync(trainer, &Fixed::add, 0) == 5);
  BOOST_TEST(made.rpc_sync(trainer, &Counter::value) == 4);
  BOOST_TEST(waits.get().rpc_sync(trainer, &Fixed::add, 1) == 6);
  BOOST_TEST(trainer.rpc_sync("p1", &unpublish_here, "one"));
}

BOOST_FIXTURE_TEST_CASE(value_that_needs_itself_is_refused, OnSharedCluster) {
  const Error error = error_of([&] { return trainer.rpc_sync("p1", &make_in_a_circle), 0; });
  BOOST_TEST(error.cause.find("the value of \"circle\" is needed while this thread makes it") != std::string::npos,
             error.text());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(end_of_the_node_ends_every_search_there_and_its_values_are_no_leak) {
  TestCluster cluster({"p1", "p2"}, {}, backend_of_this_run(), Leaks::fail);
  Node& trainer = cluster.trainer();
  trainer.publish("mine", Counter(1));
  trainer.rpc_sync("p2", &publish_counter, "theirs", 1);
  const Future<RRef<Counter>> searched = trainer.find_async<Counter>("p1", "never");
  cluster.await_calls("p1", 1);
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return searched.get(); }).code == ErrorCode::peer_down);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
