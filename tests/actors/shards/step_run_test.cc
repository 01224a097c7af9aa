#include "actors/shards/step_run.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::StepRun;

/// A step of an optimizer of this node, whose only owner is p1.
struct AmongOwners : AmongBarePeers {
  AmongOwners() { run->begin(); }

  /// p1 refuses the request that it has received.
  void refuse(ErrorCode code, Execution execution) {
    Error error = make_error(code, "no");
    error.execution = execution;
    answer(msg::Failure{error});
  }

  void answer(msg::AnyMessage message) {
    const auto requests = p1->take_heard<msg::ShardStep>();
    BOOST_REQUIRE(requests.size() == 1U);
    p1->answer("m", requests.front(), std::move(message));
  }

  void pause() { clock->advance(50ms); }

  /// Returns "open", "applied", "not applied" or "lost".
  [[nodiscard]] std::string outcome() const {
    const Future<StepOutcome> found = run->outcome();
    if (!found.ready()) return "open";
    const StepOutcome& all = found.state().result().value();
    return !all.applied.empty() ? "applied" : all.lost.empty() ? "not applied" : "lost";
  }

  const OptimizerId optimizer{"m", 7, 4};
  const StepId step{"m", 7, 5};
  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  const std::shared_ptr<StepRun> run =
      std::make_shared<StepRun>(StepRun::Parts{core().shared_from_this(),
                                               "shard/m.4",
                                               {p1->life()},
                                               [this] {
                                                 return msg::ShardStep{optimizer, step, {"m", 7, 6}, 0, {}};
                                               },
                                               StepRun::Refusal::is_final,
                                               [](const StepOutcome&) {}});
};

BOOST_FIXTURE_TEST_SUITE(step_run, AmongOwners)

BOOST_AUTO_TEST_CASE(owner_that_refuses_the_first_request_has_not_applied_the_step) {
  refuse(ErrorCode::resource_exhausted, Execution::never);
  BOOST_TEST(outcome() == "not applied");
}

BOOST_AUTO_TEST_CASE(owner_that_may_have_applied_the_step_and_has_no_thread_for_the_next_request_is_asked_again) {
  refuse(ErrorCode::internal, Execution::maybe);
  pause();
  for (int again = 0; again < 2; ++again) {
    refuse(ErrorCode::resource_exhausted, Execution::never);
    BOOST_TEST(outcome() == "open");
    pause();
  }
  answer(msg::ShardStepped{step, 1});
  BOOST_TEST(outcome() == "applied");
}

BOOST_AUTO_TEST_CASE(owner_that_knows_of_a_step_that_may_have_run_that_it_was_not_applied_is_believed) {
  refuse(ErrorCode::internal, Execution::maybe);
  pause();
  refuse(ErrorCode::step_not_applied, Execution::never);
  BOOST_TEST(outcome() == "not applied");
}

BOOST_AUTO_TEST_CASE(owner_that_may_have_applied_the_step_and_is_gone_is_lost) {
  refuse(ErrorCode::internal, Execution::maybe);
  p1->die();
  pause();
  BOOST_TEST(outcome() == "lost");
}

BOOST_AUTO_TEST_CASE(next_life_of_an_owner_that_may_have_applied_the_step_is_not_believed) {
  refuse(ErrorCode::internal, Execution::maybe);
  p1->die();
  p1 = peer("p1", 2);
  pause();
  refuse(ErrorCode::step_not_applied, Execution::never);
  BOOST_TEST(outcome() == "lost");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
