// Many futures at once, scopes that track their calls, and cancellation.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "actors/collect.h"
#include "actors/wait_all_scope.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(waiting, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(wait_all_returns_all_values_in_their_order, *label("F-13")) {
  std::vector<Future<std::int64_t>> squares;
  for (std::int64_t i = 0; i < 10; ++i) squares.push_back(trainer.rpc_async(i % 2 == 0 ? "p1" : "p2", &square, i));
  const auto values = wait_all(squares);
  for (std::int64_t i = 0; i < 10; ++i) BOOST_TEST(values[static_cast<std::size_t>(i)] == i * i);
}

BOOST_AUTO_TEST_CASE(wait_all_throws_the_failure_of_any_of_them, *label("F-13")) {
  const std::vector<Future<void>> calls{trainer.rpc_async("p1", &nothing), trainer.rpc_async("p1", &throw_text, "one"),
                                        trainer.rpc_async("p1", &nothing)};
  BOOST_TEST(error_of([&] { wait_all(calls); }).message == "one");
}

BOOST_AUTO_TEST_CASE(wait_all_does_not_wait_for_the_rest_after_a_failure, *label("F-14")) {
  const Future<bool> endless = trainer.rpc_async("p1", &wait_until_stopped);
  const Future<bool> failing = trainer.rpc_async("p2", &throw_text, "two").then([] { return true; });
  BOOST_TEST(error_of([&] { wait_all(std::vector{endless, failing}); }).message == "two");
  BOOST_TEST(!endless.ready());
  BOOST_TEST(endless.cancel());
}

BOOST_AUTO_TEST_CASE(futures_of_different_types_are_collected_into_a_tuple) {
  const auto both = collect_all(trainer.rpc_async("p1", &square, 3), trainer.rpc_async("p2", &where));
  BOOST_TEST(std::get<0>(both.get()) == 9);
  BOOST_TEST(std::get<1>(both.get()) == "p2");
}

BOOST_AUTO_TEST_CASE(collect_any_gives_the_first_value_whatever_fails) {
  const Future<bool> endless = trainer.rpc_async("p1", &wait_until_stopped);
  const Future<std::int64_t> never = endless.then([](bool) { return std::int64_t{0}; });
  const Future<std::int64_t> fails = trainer.rpc_async("p2", &throw_text, "no").then([] { return std::int64_t{0}; });
  const auto [place, value] = collect_any(std::vector{never, fails, trainer.rpc_async("p3", &square, 5)}).get();
  BOOST_TEST(place == 2U);
  BOOST_TEST(value == 25);
  BOOST_TEST(error_of([&] { static_cast<void>(collect_any(std::vector{fails}).get()); }).message == "no");
  BOOST_TEST(endless.cancel());
}

BOOST_AUTO_TEST_CASE(collecting_nothing_is_refused) {
  BOOST_CHECK_THROW(static_cast<void>(collect_all(std::vector<Future<int>>{})), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(collect_any(std::vector<Future<int>>{})), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(scope_waits_for_every_call_made_through_it, *label("F-15")) {
  WaitAllScope calls(trainer);
  std::vector<Future<std::int32_t>> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(calls.rpc_async("p1", &answer_after, 5 * i));
  answers.push_back(calls.with({.deadline = 10s}).rpc_async("p2", &answer_after, 10));
  calls.wait_all();
  for (const auto& answer : answers) BOOST_TEST(answer.ready());
  calls.wait_all();  // no call is pending
}

BOOST_AUTO_TEST_CASE(scope_throws_the_time_out_of_a_call_and_can_be_used_again, *label("F-16")) {
  WaitAllScope calls(trainer);
  const auto late = calls.with({.deadline = 10ms}).rpc_async("p1", &wait_until_stopped);
  BOOST_TEST(error_of([&] { calls.wait_all(); }).code == ErrorCode::timeout);
  const auto squared = calls.rpc_async("p1", &square, 4);
  calls.wait_all();
  BOOST_TEST(squared.get() == 16);
}

BOOST_AUTO_TEST_CASE(scope_throws_what_a_function_threw_and_cancels_when_its_body_throws, *label("F-17")) {
  WaitAllScope calls(trainer);
  const auto failing = calls.rpc_async("p1", &throw_text, "three");
  BOOST_TEST(error_of([&] { calls.wait_all(); }).message == "three");
  calls.wait_all();  // an error is reported once

  Future<bool> open;
  BOOST_CHECK_THROW(
      {
        WaitAllScope inner(trainer);
        open = inner.rpc_async("p1", &wait_until_stopped);
        throw std::domain_error("body");
      },
      std::domain_error);
  BOOST_TEST(error_of([&] { static_cast<void>(open.get()); }).code == ErrorCode::cancelled);
}

BOOST_AUTO_TEST_CASE(scope_throws_a_registered_exception_as_its_type) {
  WaitAllScope calls(trainer);
  static_cast<void>(calls.rpc_async("p1", &lookup, "t", 7));
  BOOST_CHECK_EXCEPTION(calls.wait_all(), NoSuchRow, [](const NoSuchRow& missing) { return missing.row == 7; });
}

BOOST_AUTO_TEST_CASE(cancelled_call_fails_at_once_and_its_function_is_told_to_stop, *label("fault-F37")) {
  const Future<bool> call = trainer.rpc_async("p1", &wait_until_stopped);
  cluster.await_calls("p1", 1);
  BOOST_TEST(call.cancel());
  const Error error = error_of([&] { static_cast<void>(call.get()); });
  BOOST_TEST(error.code == ErrorCode::cancelled);
  BOOST_TEST(error.execution == Execution::maybe);
  BOOST_TEST(!call.cancel());
  cluster.await_calls("p1", 0);
}

BOOST_AUTO_TEST_CASE(cancel_reaches_the_functions_that_the_function_called, *label("fault-F37")) {
  const Future<bool> call = trainer.rpc_async("p1", &wait_on, "p2");
  cluster.await_calls("p2", 1);
  BOOST_TEST(call.cancel());
  cluster.await_calls("p2", 0);
  cluster.await_calls("p1", 0);
}

BOOST_AUTO_TEST_CASE(cancelled_fetch_fails_at_once) {
  const RRef<Tensor> one(trainer, ones({1}));
  const auto held = one.local_value(trainer);
  const RRef<Tensor> slow = trainer.remote("p1", &rref_value, one);  // its function waits for the turn on `one`
  const Future<Tensor> fetched = slow.to_here_async(trainer);
  BOOST_TEST(fetched.cancel());
  BOOST_TEST(error_of([&] { static_cast<void>(fetched.get()); }).code == ErrorCode::cancelled);
}

BOOST_AUTO_TEST_CASE(cancel_of_a_call_that_has_its_answer_changes_nothing) {
  const Future<std::int64_t> squared = trainer.rpc_async("p1", &square, 6);
  BOOST_TEST(squared.get() == 36);
  BOOST_TEST(!squared.cancel());
  BOOST_TEST(squared.get() == 36);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
