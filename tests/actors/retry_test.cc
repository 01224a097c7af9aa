#include "actors/retry.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

#include "actors/calls/retry_budget.h"
#include "tests/support/counting_new.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(retry)

namespace {

Error failure(ErrorCode code, Execution execution) {
  Error error;
  error.code = code;
  error.execution = execution;
  return error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_call_is_made_again_only_as_its_caller_allows) {
  const Error never = failure(ErrorCode::peer_down, Execution::never);
  const Error maybe = failure(ErrorCode::peer_down, Execution::maybe);
  BOOST_TEST(!may_repeat(never, Repeat::never));
  BOOST_TEST(!may_repeat(maybe, Repeat::never));
  BOOST_TEST(may_repeat(never, Repeat::if_not_run));
  BOOST_TEST(!may_repeat(maybe, Repeat::if_not_run));
  BOOST_TEST(may_repeat(never, Repeat::even_if_run));
  BOOST_TEST(may_repeat(maybe, Repeat::even_if_run));
}

BOOST_AUTO_TEST_CASE(what_the_function_or_the_caller_ended_is_final) {
  for (const ErrorCode code : {ErrorCode::remote_exception, ErrorCode::timeout, ErrorCode::cancelled,
                               ErrorCode::bad_argument, ErrorCode::no_such_function, ErrorCode::decode}) {
    BOOST_TEST(!may_repeat(failure(code, Execution::never), Repeat::even_if_run));
  }
}

BOOST_AUTO_TEST_CASE(repeats_are_a_share_of_the_calls_and_some_are_free) {
  RetryBudgets budgets;
  int repeats = 0;
  while (budgets.spend("ps0")) ++repeats;
  BOOST_TEST(repeats == 10);
  BOOST_TEST(budgets.spend("ps1"));  // another node has its own
  for (int call = 0; call < 9; ++call) budgets.earn("ps0", 0.25);
  BOOST_TEST(budgets.spend("ps0"));
  BOOST_TEST(budgets.spend("ps0"));
  BOOST_TEST(!budgets.spend("ps0"));
  for (int call = 0; call < 1000; ++call) budgets.earn("ps0", 0.25);
  repeats = 0;
  while (budgets.spend("ps0")) ++repeats;
  BOOST_TEST(repeats == 10);
}

BOOST_AUTO_TEST_CASE(one_call_may_earn_more_repeats_than_are_saved_up_otherwise) {
  RetryBudgets budgets;
  budgets.earn("ps0", 1000);
  int repeats = 0;
  while (budgets.spend("ps0")) ++repeats;
  BOOST_TEST(repeats == 1000);
}

BOOST_AUTO_TEST_CASE(nodes_that_are_never_called_again_take_a_bounded_memory) {
  RetryBudgets budgets;
  const testing::PeakMemory memory;
  for (int node = 0; node < 1000; ++node) budgets.earn("ps" + std::to_string(node), 0.25);  // none is repeated
  BOOST_TEST(memory.live() < 1'000U);
  while (budgets.spend("ps0")) continue;
  for (std::size_t node = 1; node < 2 * RetryBudgets::kNodesMax; ++node)
    BOOST_REQUIRE(budgets.spend("ps" + std::to_string(node)));
  BOOST_TEST(memory.live() < 128 * RetryBudgets::kNodesMax);
  BOOST_TEST(!budgets.spend("ps0"));  // who has used up most is remembered
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
