#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_rpc)

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kCalls = 24;
constexpr Duration kLate = 50ms;  // the latest end of a call after its deadline

/// The number of executions of each call on all nodes.
std::map<std::int64_t, int> executed;

std::int64_t answer_to(std::int64_t call) { return 3 * call + 1; }

/// Takes 0 to 400 ms, depending on the call's number.
std::int64_t serve(Scope& scope, std::int64_t call) {
  ++executed[call];
  detail::WaitPoint never;
  static_cast<void>(never.wait(scope.state().node->clock().now() + std::chrono::milliseconds(call * 37 % 401)));
  return answer_to(call);
}

/// Calls serve on `next` as call number `call` + 1.
std::int64_t serve_at(Scope& scope, const std::string& next, std::int64_t call) {
  ++executed[call];
  return scope.rpc_sync(next, &serve, call + 1) - 3;
}

FunctionRegistry functions() { return {{"serve", &serve}, {"serve_at", &serve_at}}; }

/// The outcome of one call for its caller.
struct Outcome {
  std::int64_t call = 0;
  Duration limit{};
  int completions = 0;
  Duration took{};
  std::optional<Result<std::int64_t>> result;
};
using Outcomes = std::vector<Outcome>;

/// Makes all calls at once, those with odd numbers through b to `other`. Returns when each has ended.
void call_all(Node& node, const std::string& other, std::int64_t first, Outcomes& outcomes) {
  const Clock& clock = node.core().clock();
  outcomes.reserve(kCalls);
  std::vector<Future<void>> ends;
  for (std::int64_t i = 0; i < kCalls; ++i) {
    Outcome& outcome = outcomes.emplace_back();
    outcome.call = first + 2 * i;
    outcome.limit = std::chrono::milliseconds(20 + 211 * i % 1500);
    const TimePoint begun = clock.now();
    const Scope scope = node.with({.deadline = Deadline(outcome.limit)});
    const auto future =
        i % 3 == 0 ? scope.rpc_async("b", &serve_at, other, outcome.call) : scope.rpc_async("b", &serve, outcome.call);
    ends.push_back(future.then([&outcome, &clock, begun](const Result<std::int64_t>& result) {
      ++outcome.completions;
      outcome.took = clock.now() - begun;
      outcome.result = result;
    }));
  }
  for (const Future<void>& end : ends) end.get();
}

void check_truthful(const Outcome& outcome) {
  BOOST_TEST_CONTEXT("call " << outcome.call) {
    BOOST_TEST(outcome.completions == 1);
    BOOST_TEST((outcome.took <= outcome.limit + kLate));
    BOOST_TEST_REQUIRE(outcome.result.has_value());
    const int times = executed[outcome.call];
    if (outcome.result->ok()) {
      BOOST_TEST(times == 1);
      BOOST_TEST(outcome.result->value() == answer_to(outcome.call));
      return;
    }
    const Error& error = outcome.result->error();
    BOOST_TEST(!error.peer.empty(), error.text());
    if (error.execution == Execution::never) BOOST_TEST(times == 0, error.text());
    if (error.execution == Execution::yes) BOOST_TEST(times == 1, error.text());
  }
}

/// a and c call b, and each other through b. Returns the trace's hash.
std::uint64_t run_calls(std::uint64_t seed, bool with_death, FaultsSeen& seen, std::map<ErrorCode, int>& errors) {
  executed.clear();
  Outcomes of_a;
  Outcomes of_c;
  sim::World world(bad_network(seed), {"a", "b", "c"}, functions());
  const TraceIfFailed show(world);
  const Future<void> a = world.on("a", [&](Node& node) { call_all(node, "c", 0, of_a); });
  const Future<void> c = world.on("c", [&](Node& node) { call_all(node, "a", 1000, of_c); });
  if (with_death)
    world.kill_after(world.draw(1500), world.draw(3) == 0 ? "c" : "b",
                     world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
  BOOST_TEST(world.run());
  for (const auto& [call, times] : executed)
    BOOST_TEST(times == 1, "call " << call << " was executed " << times << " times");
  for (const Outcomes* outcomes : {&of_a, &of_c}) {
    if (!world.is_alive(outcomes == &of_a ? "a" : "c")) continue;
    BOOST_TEST(outcomes->size() == static_cast<std::size_t>(kCalls));
    for (const Outcome& outcome : *outcomes) {
      check_truthful(outcome);
      if (outcome.result && !outcome.result->ok()) ++errors[outcome.result->error().code];
    }
  }
  const bool quiet = world.step_until([&] {
    for (const char* name : {"a", "b", "c"}) {
      if (!world.is_alive(name)) continue;
      const detail::NodeCounts counts = world.node(name).counts();
      if (counts.pending_requests + counts.served_calls > 0) return false;
    }
    return true;
  });
  BOOST_TEST(quiet);
  seen.add(world.counts());
  return world.trace_hash();
}

}  // namespace

BOOST_AUTO_TEST_CASE(calls_over_bad_links_run_at_most_once_and_end_once_in_time,
                     *boost::unit_test::label("fault-F01") * boost::unit_test::label("fault-F02") *
                         boost::unit_test::label("fault-F03") * boost::unit_test::label("fault-F04")) {
  FaultsSeen seen;
  std::map<ErrorCode, int> errors;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) { static_cast<void>(run_calls(seed, false, seen, errors)); }
  }
  seen.check_links();
  BOOST_TEST(errors[ErrorCode::timeout] > 0);
  BOOST_TEST(errors.size() == 1U);
}

BOOST_AUTO_TEST_CASE(calls_to_a_node_that_dies_end_once_and_tell_the_truth, *boost::unit_test::label("fault-F12")) {
  FaultsSeen seen;
  std::map<ErrorCode, int> errors;
  for (const std::uint64_t seed : seeds(50)) {
    BOOST_TEST_CONTEXT("seed " << seed) { static_cast<void>(run_calls(seed, true, seen, errors)); }
  }
  seen.check_links();
  BOOST_TEST(seen.sum.killed > 25U);
  BOOST_TEST(seen.sum.unwound > 0U);
  BOOST_TEST(seen.sum.lost > 0U);
  BOOST_TEST(errors[ErrorCode::peer_down] > 0);
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_again_also_with_a_death) {
  FaultsSeen seen;
  std::map<ErrorCode, int> errors;
  for (const std::uint64_t seed : seeds(5)) {
    BOOST_TEST(run_calls(seed, true, seen, errors) == run_calls(seed, true, seen, errors));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
