// A call that is repeated, and what its error says of all attempts.
#include "actors/calls/repetition.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/wait_all_scope.h"
#include "tests/actors/references/among_values.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

std::int64_t seven() { return 7; }
std::int64_t next_of(const std::int64_t& number) { return number + 1; }

struct Repeating : AmongValues {
  Repeating() : AmongValues({{"seven", &seven}, {"next_of", &next_of}}) {}

  Error error_after_all_attempts(const Future<std::int64_t>& call) {
    clock->advance(10s);
    const auto end = call.get_for(Duration{});
    BOOST_REQUIRE(end.has_value());
    BOOST_REQUIRE(!end->ok());
    return end->error();
  }
};

BOOST_FIXTURE_TEST_SUITE(repetition, Repeating)

BOOST_AUTO_TEST_CASE(a_call_that_may_have_run_in_an_earlier_attempt_may_have_run) {
  const auto call = node->with({.repeat = Repeat::even_if_run}).rpc_async("p1", &seven);
  BOOST_REQUIRE(p1->take_heard<msg::Call>().size() == 1U);
  p1->die();  // the attempts after that one certainly do not run
  BOOST_TEST((error_after_all_attempts(call).execution == Execution::maybe));
}

BOOST_AUTO_TEST_CASE(a_call_that_may_have_run_says_so_also_when_no_more_repeats_are_granted) {
  std::vector<Future<std::int64_t>> calls;
  const auto repeating = node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.budget = 0}});
  for (int i = 0; i < 20; ++i) calls.push_back(repeating.rpc_async("p1", &seven));
  p1->die();
  int refused = 0;
  for (const auto& call : calls) {
    const Error error = error_after_all_attempts(call);
    BOOST_TEST((error.execution == Execution::maybe));
    refused += error.hint.find("RetryPolicy::budget") != std::string::npos ? 1 : 0;
  }
  BOOST_TEST(refused > 0);
}

BOOST_AUTO_TEST_CASE(a_call_of_which_no_attempt_left_never_ran) {
  p1->die();
  const auto call = node->with({.repeat = Repeat::even_if_run}).rpc_async("p1", &seven);
  BOOST_TEST((error_after_all_attempts(call).execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(a_call_whose_pause_no_clock_can_measure_is_not_repeated) {
  p1->die();
  for (const Deadline deadline : {Deadline(60s), Deadline::while_peer_lives()}) {
    const auto call =
        node->with(
                {.deadline = deadline, .repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = Duration::max()}})
            .rpc_async("p1", &seven);
    BOOST_TEST(call.ready());
  }
}

BOOST_AUTO_TEST_CASE(a_pause_doubles_up_to_the_longest_that_there_is) {
  p1->die();
  const Duration pause = Duration::max() / 2 + 1ns;
  const auto call =
      node->with({.deadline = Deadline::while_peer_lives(),
                  .repeat = Repeat::even_if_run,
                  .retry = RetryPolicy{.attempts_max = 1000, .pause = pause, .pause_max = Duration::max()}})
          .rpc_async("p1", &seven);
  BOOST_TEST(!call.ready());
  clock->advance(pause);
  BOOST_TEST_REQUIRE(call.ready());  // the next pause would be too long for any clock
  BOOST_TEST(call.get_for(0s)->error().hint.find("RetryPolicy::budget") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_in_a_pause_ends_and_is_not_sent_again) {
  std::optional<WaitAllScope> all(node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 5s}}));
  const auto call = all->rpc_async("p1", &seven);
  p1->die();
  const auto kept = core().waiting_calls().size();
  BOOST_TEST(kept == 1U);
  all.reset();
  BOOST_TEST_REQUIRE(call.ready());
  BOOST_TEST((call.get_for(0s)->error().code == ErrorCode::cancelled));
  BOOST_TEST((call.get_for(0s)->error().execution == Execution::maybe));
  BOOST_TEST(core().waiting_calls().size() == 0U);
  const auto p1_again = peer("p1", 2);
  clock->advance(5s);
  BOOST_TEST(p1_again->take<msg::Call>().empty());
}

BOOST_AUTO_TEST_CASE(a_call_whose_node_stops_in_a_pause_ends_at_once) {
  const auto call =
      node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 5s}}).rpc_async("p1", &seven);
  p1->die();
  BOOST_TEST(core().waiting_calls().size() == 1U);
  BOOST_TEST_REQUIRE(!call.ready());
  const std::weak_ptr<detail::NodeCore> kept = core().weak_from_this();
  node->stop();
  BOOST_TEST_REQUIRE(call.ready());
  const Error error = call.get_for(0s)->error();
  BOOST_TEST((error.code == ErrorCode::shutting_down));
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST((error.execution == Execution::maybe));
  BOOST_TEST(core().waiting_calls().size() == 0U);
  node.reset();
  BOOST_TEST(kept.expired());  // no timer has it
}

BOOST_AUTO_TEST_CASE(a_call_whose_node_fails_in_a_pause_says_why) {
  const auto call =
      node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 5s}}).rpc_async("p1", &seven);
  p1->die();
  core().fail(core().error(ErrorCode::resource_exhausted, "m", "the link", "no descriptors"));
  BOOST_TEST_REQUIRE(call.ready());
  BOOST_TEST((call.get_for(0s)->error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(call.get_for(0s)->error().message == "node m has failed: no descriptors");
}

BOOST_AUTO_TEST_CASE(a_cancelled_call_of_which_no_attempt_left_never_ran) {
  p1->die();
  const auto call = node->with({.repeat = Repeat::even_if_run}).rpc_async("p1", &seven);
  BOOST_TEST(call.cancel());
  BOOST_TEST(core().waiting_calls().size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_not_cancelled_in_its_pause_reaches_the_next_life) {
  const WaitAllScope all(node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 5s}}));
  const auto call = all.rpc_async("p1", &seven);
  p1->die();
  const auto p1_again = peer("p1", 2);
  BOOST_TEST(!call.ready());
  clock->advance(5s);
  BOOST_TEST(p1_again->take<msg::Call>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_makes_a_value_or_uses_one_is_sent_once_whatever_repeat_says) {
  const auto repeating = node->with({.repeat = Repeat::even_if_run, .retry = RetryPolicy{.pause = 5s}});
  const RRef<std::int64_t> theirs = repeating.remote("p1", &seven);
  const auto next = theirs.rpc_async(repeating, &next_of);
  const auto copy = theirs.to_here_async(repeating);
  Error full;
  full.code = ErrorCode::resource_exhausted;  // may_repeat says yes
  full.execution = Execution::never;
  const auto refuse = [&](const auto& heard) {
    BOOST_REQUIRE(heard.size() == 1U);
    p1->answer("m", heard.front(), msg::Failure{full});
  };
  const auto fetches = p1->take_heard<msg::RRefFetch>();
  refuse(p1->take_heard<msg::ValueCall>());
  refuse(fetches);
  refuse(p1->take_heard<msg::RemoteCall>());
  clock->advance(60s);
  BOOST_TEST(p1->take<msg::RemoteCall>().empty());
  BOOST_TEST(p1->take<msg::ValueCall>().empty());
  BOOST_TEST(p1->take<msg::RRefFetch>().empty());
  BOOST_TEST_REQUIRE(next.ready());
  BOOST_TEST((next.get_for(0s)->error().code == ErrorCode::resource_exhausted));
  BOOST_TEST_REQUIRE(copy.ready());
  BOOST_TEST((copy.get_for(0s)->error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(core().waiting_calls().size() == 0U);  // no pause
}

BOOST_AUTO_TEST_CASE(a_call_of_a_context_is_refused_if_it_may_be_repeated) {
  const DistContext context(*node);
  const auto call = context.with({.repeat = Repeat::if_not_run}).rpc_async("p1", &seven);
  BOOST_TEST_REQUIRE(call.ready());
  BOOST_TEST((call.get_for(0s)->error().code == ErrorCode::bad_argument));
  BOOST_TEST((call.get_for(0s)->error().execution == Execution::never));
  BOOST_TEST(p1->take<msg::Call>().empty());
}

BOOST_AUTO_TEST_CASE(a_policy_out_of_range_is_refused) {
  const auto refused = [&](const RetryPolicy& policy, const std::string& why) {
    BOOST_CHECK_EXCEPTION(static_cast<void>(node->with({.retry = policy})), std::invalid_argument,
                          [&](const std::invalid_argument& error) { return error.what() == why; });
  };
  refused({.pause = -1ms}, "[RetryPolicy] pause is negative: -1000000 ns");
  refused({.pause_max = -1ns}, "[RetryPolicy] pause_max is negative: -1 ns");
  refused({.attempts_max = 0}, "[RetryPolicy] attempts_max is below 1: 0");
  refused({.attempts_max = -3}, "[RetryPolicy] attempts_max is below 1: -3");
  refused({.budget = -0.5}, "[RetryPolicy] budget is not 0 or more: -0.5");
  refused({.budget = std::numeric_limits<double>::quiet_NaN()}, "[RetryPolicy] budget is not 0 or more: nan");
  BOOST_CHECK_NO_THROW(static_cast<void>(
      node->with({.retry = RetryPolicy{.attempts_max = 1, .pause = 0s, .pause_max = 0s, .budget = 0}})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
