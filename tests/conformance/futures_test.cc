// Futures of calls and promises: callbacks, chains, waits with a limit.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(futures, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(then_sees_the_value_and_its_result_is_the_childs, *label("F-01")) {
  const Future<std::string> text =
      trainer.rpc_async("p1", &square, 5).then([](std::int64_t squared) { return std::to_string(squared); });
  BOOST_TEST(text.get() == "25");
}

BOOST_AUTO_TEST_CASE(then_of_a_call_without_a_value_takes_nothing) {
  const Future<int> one = trainer.rpc_async("p1", &nothing).then([] { return 1; });
  BOOST_TEST(one.get() == 1);
}

BOOST_AUTO_TEST_CASE(many_callbacks_on_one_future_all_run, *label("F-03") * label("F-08")) {
  const Future<std::int64_t> squared = trainer.rpc_async("p1", &square, 3);
  std::vector<Future<std::int64_t>> sums;
  for (std::int64_t i = 0; i < 10; ++i) sums.push_back(squared.then([i](std::int64_t value) { return value + i; }));
  for (std::int64_t i = 0; i < 10; ++i) BOOST_TEST(sums[static_cast<std::size_t>(i)].get() == 9 + i);
}

BOOST_AUTO_TEST_CASE(chain_of_callbacks_passes_values_in_order, *label("F-04")) {
  Future<std::int64_t> value = trainer.rpc_async("p1", &square, 2);
  for (int i = 0; i < 20; ++i) value = value.then([](std::int64_t x) { return x + 1; });
  BOOST_TEST(value.get() == 24);  // 2*2 + 20
}

BOOST_AUTO_TEST_CASE(callback_inside_a_served_function_runs_there, *label("F-05") * label("F-12")) {
  BOOST_TEST(trainer.rpc_sync("p1", &square_on_and_one, "p2", 3) == 10);
}

BOOST_AUTO_TEST_CASE(callback_may_call_on_and_wait, *label("F-12")) {
  Node& node = trainer;
  const Future<std::int64_t> fourth = trainer.rpc_async("p1", &square, 2).then([&node](std::int64_t squared) {
    return node.rpc_async("p2", &square, squared).get();
  });
  BOOST_TEST(fourth.get() == 16);
}

BOOST_AUTO_TEST_CASE(what_a_callback_did_is_seen_by_those_after_it, *label("F-08")) {
  std::vector<std::int64_t> seen;
  const Future<void> noted =
      trainer.rpc_async("p1", &square, 3).then([&seen](std::int64_t squared) { seen.push_back(squared); });
  BOOST_TEST(noted.then([&seen] { return seen.size(); }).get() == 1U);
  BOOST_TEST(noted.then([&seen] { return seen.front(); }).get() == 9);  // a callback added after completion
}

BOOST_AUTO_TEST_CASE(failure_passes_by_callbacks_that_take_the_value) {
  bool called = false;
  const Future<int> child =
      trainer.rpc_async("p1", &throw_number).then([&called](std::int32_t) { return called = true, 1; });
  const Error error = error_of([&] { return child.get(); });
  BOOST_TEST(error.exception_type == "int");
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(!called);
}

BOOST_AUTO_TEST_CASE(callback_that_takes_a_result_sees_the_failure) {
  const Future<std::string> child =
      trainer.rpc_async("p1", &throw_out_of_range).then([](const Result<std::int32_t>& result) {
        return result ? std::string("no failure") : result.error().message;
      });
  BOOST_TEST(child.get() == "index 7 of 3");
}

BOOST_AUTO_TEST_CASE(exception_of_a_callback_is_the_childs, *label("F-06")) {
  const Future<int> child = trainer.rpc_async("p1", &throw_number).then([](const Result<std::int32_t>&) -> int {
    throw std::length_error("second");
  });
  const Error error = error_of([&] { return child.get(); });
  BOOST_TEST(error.exception_type == "std::length_error");
  BOOST_TEST(error.message == "second");
  BOOST_TEST(error.operation == "then");
}

BOOST_AUTO_TEST_CASE(future_is_not_ready_before_and_ready_after, *label("F-11")) {
  const RRef<Tensor> one(trainer, ones({1}));
  auto held = std::make_optional(one.local_value(trainer));
  const Future<Tensor> value = trainer.rpc_async("p1", &rref_value, one);  // its function waits for the turn on `one`
  BOOST_TEST(!value.ready());
  held.reset();
  BOOST_TEST(value.get().item() == 1.0);
  BOOST_TEST(value.ready());
  const Future<bool> late = trainer.with({.deadline = 20ms}).rpc_async("p1", &wait_until_stopped);
  BOOST_TEST(error_of([&] { return late.get(); }).code == ErrorCode::timeout);
  BOOST_TEST(late.ready());
}

BOOST_AUTO_TEST_CASE(get_for_gives_up_waiting_and_the_call_goes_on) {
  const RRef<Tensor> one(trainer, ones({1}));
  auto held = std::make_optional(one.local_value(trainer));
  const Future<Tensor> future = trainer.rpc_async("p1", &rref_value, one);  // its function waits for the turn on `one`
  BOOST_TEST(!future.get_for(1ms).has_value());
  held.reset();
  const auto result = future.get_for(10s);
  BOOST_REQUIRE(result.has_value());
  BOOST_TEST(result->value().item() == 1.0);
  BOOST_TEST(future.get_for(0ms).has_value());
}

BOOST_AUTO_TEST_CASE(promise_of_a_node_is_kept_once, *label("F-09")) {
  const Promise<int> promise(trainer.core().future_home());
  const Future<int> future = promise.future();
  BOOST_TEST(promise.complete(1));
  BOOST_TEST(!promise.complete(2));
  BOOST_TEST(future.get() == 1);
}

BOOST_AUTO_TEST_CASE(dropped_promise_fails_its_future) {
  const Future<int> future = Promise<int>(trainer.core().future_home()).future();
  const Error error = error_of([&] { return future.get(); });
  BOOST_TEST(error.code == ErrorCode::internal);
  BOOST_TEST(error.message == "the promise was dropped without an answer");
}

BOOST_AUTO_TEST_CASE(default_constructed_future_throws_on_use, *label("F-07")) {
  const Future<int> none;
  BOOST_TEST(!none.valid());
  BOOST_CHECK_THROW(static_cast<void>(none.get()), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(callback_inside_a_served_function_needs_one_more_thread_while_the_function_waits, *label("F-05")) {
  TestCluster cluster({"p1", "p2"}, PoolOptions{.threads = 1, .threads_max = 2});
  BOOST_TEST(cluster.trainer().with({.deadline = 10s}).rpc_sync("p1", &square_on_and_one, "p2", 3) == 10);
  TestCluster too_small({"p1", "p2"}, PoolOptions{.threads = 1, .threads_max = 1});
  const Error error = error_of([&] { return too_small.trainer().rpc_sync("p1", &square_on_and_one, "p2", 3); });
  BOOST_TEST(error.cause.find("all 1 pool threads wait") != std::string::npos, error.text());
}

// The trainer's callback and the second nested call wait while the last nested call runs.
BOOST_AUTO_TEST_CASE(callback_that_waits_leaves_its_place_to_those_who_call_back, *label("F-12")) {
  for (const std::size_t threads_max : {std::size_t{3}, std::size_t{2}}) {
    TestCluster cluster({"p1"}, PoolOptions{.threads = 1, .threads_max = threads_max});
    const Scope patient = cluster.trainer().with({.deadline = 10s});
    const Future<std::int32_t> calls = patient.rpc_async("p1", &square, 2).then([&patient](std::int64_t) {
      return patient.rpc_sync("p1", &ping_pong, "trainer", 3);
    });
    if (threads_max == 3) {
      BOOST_TEST(calls.get() == 3);
    } else {
      const Error error = error_of([&] { return calls.get(); });
      BOOST_TEST(error.text().find("all 2 pool threads wait") != std::string::npos, error.text());
    }
  }
}

}  // namespace
}  // namespace troupe::testing
