#include "actors/shards/shards.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/shards/update_rule.h"
#include "optim/sgd.h"
#include "tests/actors/bare_peer.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::Shards;
using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

struct AmongShards : AmongBarePeers {
  [[nodiscard]] Shards& shards() { return core().shards(); }

  static msg::ShardCreate word_to_create(std::uint64_t serial, std::vector<RRefId> parameters) {
    const detail::UpdateRule rule = detail::rule_of(optim::SgdOptions{});
    return {{"p1", 1, serial}, rule.name, rule.options, std::move(parameters)};
  }

  /// Requests a shard of p1's optimizer. Its parameters wait for their values.
  Asked create(std::uint64_t serial, std::vector<RRefId> parameters) {
    return p1->ask("m", "worker", word_to_create(serial, std::move(parameters)));
  }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
};

/// A shard whose driver dies after it has prepared a step that p2 takes as well. Its name sorts before p2's, so it asks
/// p2.
struct Orphaned : AmongShards {
  Orphaned() {
    static_cast<void>(create(4, {}));
    const Asked prepared = p1->ask(
        "m", "shard/p1.4", msg::ShardPrepare{optimizer, step, {"p1", 1, 6}, {{"m", {7, 7}}, {"p2", {2, 2}}}, 0});
    BOOST_REQUIRE((prepared->has_value() && (*prepared)->ok()));
    p1->die();
  }

  /// Returns the questions that p2 just got.
  std::vector<BarePeer::Heard> questions() { return p2->take_heard<msg::ShardQuery>(); }

  /// p2 lives but cannot answer.
  void refuse(const BarePeer::Heard& question) {
    Error full;
    full.code = ErrorCode::resource_exhausted;
    p2->answer("m", question, msg::Failure{full});
  }

  const OptimizerId optimizer{"p1", 1, 4};
  const StepId step{"p1", 1, 5};
};

std::string answer_to(const Asked& asked) {
  if (!*asked) return "waits";
  return (*asked)->ok() ? "ok" : std::string(name_of((*asked)->error().code)) + " " + (*asked)->error().message;
}

BOOST_FIXTURE_TEST_SUITE(shards, AmongShards)

BOOST_AUTO_TEST_CASE(a_shard_that_gets_no_memory_leaves_nothing_of_itself) {
  std::uint64_t serial = 100;
  for (bool is_refused = true; is_refused;) {
    ++serial;
    {
      detail::Delivery delivery{"p1", p1->self().incarnation, {}, word_to_create(serial, {}), {}, {}};
      const RefusedAllocation refused(serial - 100);  // the first allocation, then the second, ...
      try {
        shards().create({"p1", 1, serial}, std::move(delivery));
      } catch (const std::bad_alloc&) {  // no message was sent
      }
      is_refused = refused.happened();
    }
    const std::string next = answer_to(create(serial, {}));
    BOOST_TEST((next == "ok" || next.find("resource_exhausted") == 0U), next);
  }
  BOOST_TEST(serial > 105U);
}

BOOST_AUTO_TEST_CASE(only_the_life_that_made_an_optimizer_moves_it) {
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardCreate{{"p1", 1, 4}, "sgd", {}, {}})) ==
             "protocol_violation optimizer p1.4 is not of p2");
  BOOST_TEST(answer_to(p1->ask("m", "worker", msg::ShardCreate{{"p1", 3, 4}, "sgd", {}, {}})) ==
             "protocol_violation optimizer p1.4 is not of p1");
  BOOST_TEST(answer_to(p2->ask("m", "shard/p1.4", msg::ShardPrepare{{"p1", 1, 4}, {"p1", 1, 5}, {"p1", 1, 6}, {}, 0}))
                 .find("protocol_violation") == 0U);
  BOOST_TEST(shards().size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_step_of_an_optimizer_without_a_shard_is_not_applied) {
  const Asked asked = p1->ask("m", "shard/p1.4", msg::ShardPrepare{{"p1", 1, 4}, {"p1", 1, 5}, {"p1", 1, 6}, {}, 0});
  BOOST_TEST(answer_to(asked) == "step_not_applied optimizer p1.4 has no shard on m");
  BOOST_TEST(((*asked)->error().execution == Execution::never));
  BOOST_TEST((*asked)->error().operation == "step");
  BOOST_TEST((*asked)->error().peer == "m");
  BOOST_TEST(shards().size() == 0U);
}

BOOST_AUTO_TEST_CASE(anybody_may_ask_what_became_of_a_step) {
  const Asked asked = p2->ask("m", "shard/p1.4", msg::ShardQuery{{"p1", 1, 4}, {"p1", 1, 5}});
  BOOST_REQUIRE(answer_to(asked) == "ok");
  const auto& known = std::get<msg::ShardOutcome>((*asked)->value());
  BOOST_TEST((known.step == StepId{"p1", 1, 5}));
  BOOST_TEST((known.state == msg::StepState::unknown));
  BOOST_TEST(known.version == 0U);
}

BOOST_AUTO_TEST_CASE(a_shard_is_made_once_and_ends_with_its_optimizers_node) {
  const RRefId parameter{"p1", 1, 50};
  p1->say("m", "rref/p1.50", msg::RRefForked{parameter, {"p1", 1, 51}, "p1"});
  const Asked first = create(4, {parameter});
  const Asked second = create(5, {parameter});
  BOOST_TEST(answer_to(first) == "waits");
  BOOST_TEST(shards().size() == 2U);
  static_cast<void>(create(4, {parameter}));
  BOOST_TEST(shards().size() == 2U);
  p2->die();
  BOOST_TEST(shards().size() == 2U);
  p1->die();
  BOOST_TEST(shards().size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_shard_that_cannot_be_made_says_why_until_it_is_released) {
  const Asked no_rule = p1->ask("m", "worker", msg::ShardCreate{{"p1", 1, 4}, "no such rule", {}, {}});
  BOOST_TEST(answer_to(no_rule).find("bad_argument") == 0U, answer_to(no_rule));
  BOOST_TEST(shards().size() == 1U);
  const Asked step = p1->ask("m", "shard/p1.4", msg::ShardPrepare{{"p1", 1, 4}, {"p1", 1, 5}, {"p1", 1, 6}, {}, 0});
  BOOST_TEST(answer_to(step) == answer_to(no_rule));
  p2->say("m", "shard/p1.4", msg::ShardReleased{{"p1", 1, 4}, 0});  // not its own optimizer
  BOOST_TEST(shards().size() == 1U);
  p1->say("m", "shard/p1.4", msg::ShardReleased{{"p1", 1, 4}, 0});
  BOOST_TEST(shards().size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(an_owner_that_lives_and_cannot_answer_is_asked_again_after_a_pause, Orphaned) {
  const auto first = questions();
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST((std::get<msg::ShardQuery>(first[0].message).step == step));
  BOOST_TEST((std::get<msg::ShardQuery>(first[0].message).own == msg::StepState::prepared));
  refuse(first[0]);
  BOOST_TEST(questions().empty());
  clock->advance(99ms);
  BOOST_TEST(questions().empty());
  clock->advance(1ms);
  const auto again = questions();
  BOOST_REQUIRE(again.size() == 1U);
  BOOST_TEST((std::get<msg::ShardQuery>(again[0].message).step == step));
  BOOST_TEST(shards().size() == 1U);
  p2->answer("m", again[0], msg::ShardOutcome{step, msg::StepState::aborted, 0});
  BOOST_TEST(shards().size() == 0U);
  clock->advance(1h);
  BOOST_TEST(questions().empty());
}

BOOST_FIXTURE_TEST_CASE(an_owner_is_not_asked_again_by_a_node_that_is_gone, Orphaned) {
  const auto first = questions();
  BOOST_REQUIRE(first.size() == 1U);
  refuse(first[0]);
  node.reset();
  clock->advance(1h);
  BOOST_TEST(questions().empty());
}

BOOST_AUTO_TEST_CASE(the_end_of_the_node_fails_what_waits_and_makes_no_shard) {
  const RRefId parameter{"p1", 1, 50};
  p1->say("m", "rref/p1.50", msg::RRefForked{parameter, {"p1", 1, 51}, "p1"});
  const Asked waiting = create(4, {parameter});
  Error why;
  why.code = ErrorCode::shutting_down;
  why.message = "the node ends";
  shards().stop(why);
  BOOST_TEST(answer_to(waiting) == "shutting_down the node ends");
  BOOST_TEST(shards().size() == 0U);
  BOOST_TEST(answer_to(create(5, {parameter})).find("step_not_applied") == 0U);
  BOOST_TEST(shards().size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
