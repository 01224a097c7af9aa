// Functions that return a future or are coroutines: the caller gets the value, and no thread is blocked until it
// exists.
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "actors/collect.h"
#include "tensor/create.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using boost::unit_test::fixture;
using boost::unit_test::label;

/// Checks that the result by rpc_sync, rpc_async and remote has the only element `expected`.
template <class... Args>
void check_three_ways(Node& trainer, double expected, const Args&... call) {
  BOOST_TEST(trainer.rpc_sync("p1", call...).item() == expected);
  BOOST_TEST(trainer.rpc_async("p1", call...).get().item() == expected);
  BOOST_TEST(trainer.remote("p1", call...).to_here(trainer).item() == expected);
}

template <class... Args>
void check_error_three_ways(Node& trainer, const std::string& expected, const Args&... call) {
  const auto check = [&](const Error& error) {
    BOOST_TEST(error.code == ErrorCode::remote_exception);
    BOOST_TEST(error.peer == "p1");
    BOOST_TEST(error.message == expected);
  };
  check(error_of([&] { static_cast<void>(trainer.rpc_sync("p1", call...)); }));
  check(error_of([&] { static_cast<void>(trainer.rpc_async("p1", call...).get()); }));
  check(error_of([&] { static_cast<void>(trainer.remote("p1", call...).to_here(trainer)); }));
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(async_functions, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(function_that_returns_the_future_of_a_call_gives_its_value, *label("A-01")) {
  check_three_ways(trainer, 4, &add_later, NodeName("p2"), ones({1}), 3.0);
}

BOOST_AUTO_TEST_CASE(future_completed_by_another_thread_gives_its_value, *label("A-02")) {
  BOOST_TEST(trainer.rpc_sync("p1", &next_from_thread, 41) == 42);
  BOOST_TEST(trainer.remote("p1", &next_from_thread, 41).to_here(trainer) == 42);
}

BOOST_AUTO_TEST_CASE(chained_callbacks_give_the_value_of_the_last, *label("A-03")) {
  check_three_ways(trainer, 7, &add_thrice_later, NodeName("p2"), ones({1}), 2.0);  // 1 + 3*2
  check_error_three_ways(trainer, "in the chain", &fail_in_callback, NodeName("p2"), std::string("in the chain"));
}

BOOST_AUTO_TEST_CASE(function_that_returns_later_may_call_another_one_on_a_third_node, *label("A-04")) {
  check_three_ways(trainer, 4, &add_later_by, NodeName("p2"), NodeName("p3"), ones({1}), 3.0);
}

BOOST_AUTO_TEST_CASE(many_calls_at_once_combine_into_one_result, *label("A-05")) {
  check_three_ways(trainer, 20 * 1 + 190, &add_all_later, NodeName("p2"), ones({1}), 20);  // 0 + 1 + ... + 19 = 190
}

BOOST_AUTO_TEST_CASE(static_member_function_may_return_later, *label("A-06")) {
  check_three_ways(trainer, 4, &Accumulator::add_by, NodeName("p2"), ones({1}), 3.0);
}

BOOST_AUTO_TEST_CASE(member_functions_of_a_remote_object_may_return_later, *label("A-07")) {
  const auto object = trainer.remote("p1", constructor<Accumulator, std::int64_t>, 10);
  BOOST_TEST(object.rpc_sync(trainer, &Accumulator::add_square, NodeName("p2"), 3) == 19);
  BOOST_TEST(object.rpc_async(trainer, &Accumulator::add_square, NodeName("p2"), 1).get() == 20);
  BOOST_TEST(object.remote(trainer, &Accumulator::add_square, NodeName("p2"), 2).to_here(trainer) == 24);
  BOOST_TEST(object.rpc_sync(trainer, &Accumulator::add_square_later, NodeName("p2"), 2) == 28);
  BOOST_TEST(object.rpc_sync(trainer, &Accumulator::value) == 24);
}

BOOST_AUTO_TEST_CASE(what_a_function_throws_before_it_has_a_future_arrives, *label("A-08")) {
  check_error_three_ways(trainer, "not even a future", &throw_before_later);
}

BOOST_AUTO_TEST_CASE(function_that_returns_no_future_at_all_fails_and_says_so, *label("A-09")) {
  check_error_three_ways(trainer, "[Future] used without a value: it was default-constructed", &nothing_later);
}

BOOST_AUTO_TEST_CASE(failure_of_the_returned_future_names_both_nodes_and_keeps_the_cause) {
  const Error error = error_of([&] { trainer.rpc_sync("p1", &fail_later_on, "p2", "boom"); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.operation == "rpc fail_later_on");
  BOOST_TEST(error.message == "rpc throw_text failed on p2");
  BOOST_TEST(error.cause.find("boom") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(coroutine_waits_for_calls_and_gives_its_result) {
  check_three_ways(trainer, 5 * 1 + 10, &add_in_turn, NodeName("p2"), ones({1}), 5);  // 0 + 1 + 2 + 3 + 4 = 10
  check_three_ways(trainer, 5 * 1 + 10, &add_in_turn_inside, NodeName("p2"), ones({1}), 5);
  trainer.rpc_sync("p1", &wait_for_square_on, "p2");
}

BOOST_AUTO_TEST_CASE(coroutine_started_here_gives_a_future) {
  Scope scope = trainer;
  BOOST_TEST(add_in_turn(scope, "p2", ones({1}), 5).start(scope).get().item() == 15.0);
}

BOOST_AUTO_TEST_CASE(what_a_coroutine_throws_after_a_wait_arrives_with_its_type) {
  const Error error = error_of([&] { trainer.rpc_sync("p1", &throw_after_wait, "p2", "late"); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.operation == "rpc throw_after_wait");
  BOOST_TEST(error.message == "late");
  BOOST_TEST(error.exception_type == "std::domain_error");
}

BOOST_AUTO_TEST_CASE(coroutines_on_one_object_take_turns_between_their_waits, *label("A-07")) {
  const auto object = trainer.remote("p1", constructor<Accumulator, std::int64_t>, 0);
  std::vector<Future<std::int64_t>> counts;
  for (int i = 0; i < 8; ++i) counts.push_back(object.rpc_async(trainer, &Accumulator::count_up, NodeName("p2"), 50));
  wait_all(counts);
  BOOST_TEST(object.rpc_sync(trainer, &Accumulator::value) == 8 * 50);
}

BOOST_AUTO_TEST_CASE(coroutine_on_an_object_that_waits_lets_a_call_back_in, *label("fault-F38")) {
  const auto object = trainer.remote("p1", constructor<Accumulator, std::int64_t>, 1);
  BOOST_TEST(object.rpc_sync(trainer, &Accumulator::added_by, NodeName("p2"), object, 3) == 10);
}

BOOST_AUTO_TEST_CASE(callee_knows_its_caller, *label("R-29")) {
  BOOST_TEST(trainer.rpc_sync("p1", &caller_of) == "trainer");
  BOOST_TEST(trainer.rpc_sync("trainer", &caller_of) == "trainer");
  BOOST_TEST(trainer.caller() == "trainer");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(async_functions_with_small_pools)

BOOST_AUTO_TEST_CASE(hundred_that_wait_for_each_other_hold_no_thread, *label("scenario-D6")) {
  TestCluster cluster({"p1"}, {.threads = 1, .threads_max = 200});
  Node& trainer = cluster.trainer();
  const auto gate = trainer.remote("p1", constructor<Gate, std::int64_t>, 100);
  std::vector<Future<std::int64_t>> arrivals;
  for (int i = 1; i < 100; ++i) arrivals.push_back(gate.rpc_async(trainer, &Gate::arrive));
  BOOST_TEST(gate.rpc_sync(trainer, &Gate::arrived) == 99);
  BOOST_TEST(trainer.rpc_sync("p1", &waiting_threads) == 0);
  arrivals.push_back(gate.rpc_async(trainer, &Gate::arrive));
  for (const std::int64_t arrived : wait_all(arrivals)) BOOST_TEST(arrived == 100);
}

BOOST_AUTO_TEST_CASE(thousand_nested_coroutines_need_one_thread_on_each_node, *label("fault-F38")) {
  TestCluster cluster({"p1"}, {.threads = 1, .threads_max = 1});
  Scope scope = cluster.trainer();
  BOOST_TEST(ping_pong_task(scope, "p1", 1'000).start(scope).get() == 1'000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
