#include "actors/shards/shards.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/shards/step_options.h"
#include "actors/shards/update_rule.h"
#include "optim/sgd.h"
#include "tensor/create.h"
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
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < parameters.size(); ++i) places.push_back(i);
    return {{"p1", 1, serial}, {{rule.name, rule.options, std::move(parameters), std::move(places)}}};
  }

  /// Requests a shard of p1's optimizer. Its parameters wait for their values.
  Asked create(std::uint64_t serial, std::vector<RRefId> parameters) {
    return p1->ask("m", "worker", word_to_create(serial, std::move(parameters)));
  }

  std::unique_ptr<BarePeer> p1 = peer("p1", 1);
  std::unique_ptr<BarePeer> p2 = peer("p2", 2);
};

/// A shard that has prepared a step that p2 takes as well. Its name sorts before p2's, so it asks p2 when the driver
/// has died.
struct Prepared : AmongShards {
  Prepared() {
    static_cast<void>(create(4, {}));
    const Asked prepared = p1->ask(
        "m", "shard/p1.4", msg::ShardPrepare{optimizer, step, {"p1", 1, 6}, {{"m", {7, 7}}, {"p2", {2, 2}}}, 0});
    BOOST_REQUIRE((prepared->has_value() && (*prepared)->ok()));
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

struct Orphaned : Prepared {
  Orphaned() { p1->die(); }
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

BOOST_AUTO_TEST_CASE(only_the_life_that_made_an_optimizer_moves_it, *boost::unit_test::label("attack")) {
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardCreate{{"p1", 1, 4}, {}})) ==
             "protocol_violation optimizer p1.4 is not of p2");
  BOOST_TEST(answer_to(p1->ask("m", "worker", msg::ShardCreate{{"p1", 3, 4}, {}})) ==
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
  const auto& known = (*asked)->value().get<msg::ShardOutcome>();
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
  const Asked no_rule = p1->ask("m", "worker", msg::ShardCreate{{"p1", 1, 4}, {{"no such rule", {}, {}, {}}}});
  BOOST_TEST(answer_to(no_rule).find("bad_argument") == 0U, answer_to(no_rule));
  BOOST_TEST(shards().size() == 1U);
  const Asked step = p1->ask("m", "shard/p1.4", msg::ShardPrepare{{"p1", 1, 4}, {"p1", 1, 5}, {"p1", 1, 6}, {}, 0});
  BOOST_TEST(answer_to(step) == answer_to(no_rule));
  p2->say("m", "shard/p1.4", msg::ShardReleased{{"p1", 1, 4}, 0});  // not its own optimizer
  BOOST_TEST(shards().size() == 1U);
  p1->say("m", "shard/p1.4", msg::ShardReleased{{"p1", 1, 4}, 0});
  BOOST_TEST(shards().size() == 0U);
}

BOOST_AUTO_TEST_CASE(shard_of_an_optimizer_that_was_released_before_is_refused) {
  p1->say("m", "shard/p1.4", msg::ShardReleased{{"p1", 1, 4}, 0});
  p1->say("m", "shard/p1.5", msg::ShardReleased{{"p1", 1, 5}, 0});
  p2->say("m", "shard/p1.6", msg::ShardReleased{{"p1", 1, 6}, 0});  // not its own optimizer
  const Asked late = create(4, {});
  BOOST_TEST(answer_to(late) == "step_not_applied optimizer p1.4 has no shard on m");
  BOOST_TEST(((*late)->error().execution == Execution::never));
  BOOST_TEST(shards().size() == 0U);
  BOOST_TEST(answer_to(create(6, {})) == "ok");
  BOOST_TEST(answer_to(p1->ask("m", "worker", msg::ShardJoin{{"p1", 1, 5}, {"p1", 1, 6}})).find("step_not_applied") ==
             0U);
  BOOST_TEST(shards().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(an_owner_that_lives_and_cannot_answer_is_asked_again_after_a_pause, Orphaned) {
  const auto first = questions();
  BOOST_REQUIRE(first.size() == 1U);
  BOOST_TEST((first[0].message.get<msg::ShardQuery>().step == step));
  BOOST_TEST((first[0].message.get<msg::ShardQuery>().own == msg::StepState::prepared));
  refuse(first[0]);
  BOOST_TEST(questions().empty());
  clock->advance(99ms);
  BOOST_TEST(questions().empty());
  clock->advance(1ms);
  const auto again = questions();
  BOOST_REQUIRE(again.size() == 1U);
  BOOST_TEST((again[0].message.get<msg::ShardQuery>().step == step));
  BOOST_TEST(shards().size() == 1U);
  p2->answer("m", again[0], msg::ShardOutcome{step, msg::StepState::aborted, 0});
  BOOST_TEST(shards().size() == 0U);
  clock->advance(1h);
  BOOST_TEST(questions().empty());
}

BOOST_AUTO_TEST_CASE(an_owner_whose_question_gets_no_memory_is_asked_after_a_pause) {
  std::size_t asked_later = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Prepared among;
    among.pool->keeps = true;
    among.p1->die();
    among.pool->keeps = false;
    const std::vector<Job> jobs = std::exchange(among.pool->kept, {});
    BOOST_REQUIRE(jobs.size() == 1U);
    {
      const RefusedAllocation refused(n);
      jobs[0].run();
      is_refused = refused.happened();
    }
    if (among.core().failure()) continue;
    const auto questions = [&] { return among.core().counts().pending_requests; };
    asked_later += 1 - questions();
    among.clock->advance(1s);
    BOOST_TEST(questions() == 1U, "allocation " << n);
  }
  BOOST_TEST(asked_later > 5U);
}

BOOST_AUTO_TEST_CASE(an_owner_whose_question_gets_no_memory_and_neither_its_pause_is_asked_or_the_node_ends) {
  constexpr std::size_t kOfQuestionAndPauses = 3;
  bool is_refused = true;
  std::size_t n = 1;
  for (; is_refused; ++n) {
    Prepared among;
    among.pool->keeps = true;
    among.p1->die();
    among.pool->keeps = false;
    const std::vector<Job> jobs = std::exchange(among.pool->kept, {});
    BOOST_REQUIRE(jobs.size() == 1U);
    {
      const RefusedAllocation refused(n, 0, kOfQuestionAndPauses);
      jobs[0].run();
      is_refused = refused.happened();
    }
    if (among.core().failure()) continue;
    among.clock->advance(1s);
    BOOST_TEST(among.core().counts().pending_requests == 1U, "allocation " << n);
  }
  BOOST_TEST(n > 5U);
}

BOOST_FIXTURE_TEST_CASE(an_owner_is_not_asked_again_by_a_node_that_is_gone, Orphaned) {
  const auto first = questions();
  BOOST_REQUIRE(first.size() == 1U);
  refuse(first[0]);
  node.reset();
  clock->advance(1h);
  BOOST_TEST(questions().empty());
}

/// A shard of p1's optimizer, which p2 has joined.
struct Joined : AmongShards {
  Joined() {
    BOOST_REQUIRE(answer_to(create(4, {})) == "ok");
    BOOST_REQUIRE(answer_to(p2->ask("m", "worker", msg::ShardJoin{second, first})) == "ok");
  }

  Asked step_of(BarePeer& peer, const OptimizerId& optimizer, std::uint64_t serial) {
    const StepId step{optimizer.creator, optimizer.incarnation, serial};
    const ContextId context{optimizer.creator, optimizer.incarnation, serial + 1000};
    return peer.ask("m", "shard/" + optimizer.text(), msg::ShardStep{optimizer, step, context, 0, {}});
  }
  Asked wait_of(BarePeer& peer, const OptimizerId& optimizer, std::uint64_t staleness) {
    return peer.ask("m", "shard/" + optimizer.text(), msg::ShardWait{optimizer, staleness});
  }
  msg::ShardSaved saved_by(BarePeer& peer, const OptimizerId& optimizer, std::optional<std::uint64_t> version) {
    const Asked asked = peer.ask("m", "shard/" + optimizer.text(), msg::ShardSave{optimizer, version, true});
    BOOST_REQUIRE(answer_to(asked) == "ok");
    return (*asked)->value().get<msg::ShardSaved>();
  }

  const OptimizerId first{"p1", 1, 4};
  const OptimizerId second{"p2", 2, 9};
};

BOOST_FIXTURE_TEST_CASE(parameters_are_shared_until_the_last_handle_is_gone, Joined) {
  BOOST_TEST(shards().size() == 2U);
  BOOST_TEST(answer_to(step_of(*p1, first, 20)) == "ok");
  BOOST_TEST(answer_to(step_of(*p2, second, 20)) == "ok");
  BOOST_TEST(saved_by(*p1, first, {}).version == 2U);
  p1->say("m", "shard/p1.4", msg::ShardReleased{first, 21});
  BOOST_TEST(shards().size() == 1U);
  const Asked step = step_of(*p2, second, 21);
  BOOST_REQUIRE(answer_to(step) == "ok");
  BOOST_TEST((*step)->value().get<msg::ShardStepped>().version == 3U);
  p2->die();
  BOOST_TEST(shards().size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(step_that_comes_again_by_any_handle_changes_nothing, Joined) {
  for (int copy = 0; copy < 3; ++copy) {
    BOOST_TEST(answer_to(step_of(*p2, second, 20)) == "ok");
    BOOST_TEST(saved_by(*p2, second, {}).version == 1U);
  }
}

BOOST_FIXTURE_TEST_CASE(step_that_was_applied_is_answered_again_after_the_end_of_its_context, Joined) {
  const ContextId context{"p1", 1, 6};
  const auto step = [&](std::uint64_t serial) {
    return answer_to(p1->ask("m", "shard/p1.4", msg::ShardStep{first, {"p1", 1, serial}, context, 0, {}}));
  };
  BOOST_TEST(!core().contexts().joined(context, "p1").has_value());
  BOOST_TEST(step(20) == "ok");
  p1->say("m", "", msg::ContextReleased{context});
  BOOST_TEST(step(20) == "ok");
  BOOST_TEST(step(21).find("context_aborted") == 0U);
  BOOST_TEST(saved_by(*p1, first, {}).version == 1U);
}

BOOST_FIXTURE_TEST_CASE(handle_that_joins_what_is_gone_is_told_so, Joined) {
  p1->die();
  const Asked late = p2->ask("m", "worker", msg::ShardJoin{{"p2", 2, 10}, first});
  BOOST_TEST(answer_to(late) == "ref_revoked optimizer p1.4 has no shard on m: every handle of it is gone");
  BOOST_TEST(((*late)->error().execution == Execution::never));
  p2->say("m", "shard/p2.10", msg::ShardReleased{{"p2", 2, 10}, 0});
  BOOST_TEST(shards().size() == 1U);
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardJoin{{"p2", 2, 11}, second})) == "ok");
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardJoin{{"p1", 1, 12}, second})).find("protocol_violation") == 0U);
}

BOOST_FIXTURE_TEST_CASE(who_guesses_an_optimizer_does_not_join_its_shard, Joined, *boost::unit_test::label("attack")) {
  OptimizerId guess = first;
  guess.secret.low = 1;  // the shards of this test have the secret 0
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardJoin{{"p2", 2, 10}, guess})).find("ref_revoked") == 0U);
  const Asked query = p2->ask("m", "shard/p1.4", msg::ShardQuery{guess, {"p1", 1, 5}});
  BOOST_TEST(((*query)->value().get<msg::ShardOutcome>().state == msg::StepState::unknown));
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardJoin{{"p2", 2, 11}, first})) == "ok");
}

BOOST_FIXTURE_TEST_CASE(trainer_that_is_ahead_is_answered_when_another_steps_or_dies, Joined) {
  BOOST_TEST(answer_to(wait_of(*p1, first, 0)) == "ok");
  BOOST_TEST(answer_to(step_of(*p1, first, 20)) == "ok");
  const Asked ahead = wait_of(*p1, first, 0);
  BOOST_TEST(answer_to(ahead) == "waits");
  BOOST_TEST(answer_to(step_of(*p1, first, 20)) == "ok");  // again
  BOOST_TEST(answer_to(step_of(*p2, second, 20)) == "ok");
  BOOST_REQUIRE(answer_to(ahead) == "ok");
  BOOST_TEST((*ahead)->value().get<msg::ShardReady>().clock == 1U);
  BOOST_TEST((*ahead)->value().get<msg::ShardReady>().slowest == 1U);
  BOOST_TEST(answer_to(step_of(*p1, first, 21)) == "ok");
  const Asked again = wait_of(*p1, first, 0);
  BOOST_TEST(answer_to(again) == "waits");
  p2->die();
  BOOST_TEST(answer_to(again) == "ok");
}

BOOST_AUTO_TEST_CASE(trainer_that_is_ahead_is_answered_or_the_node_ends_whatever_memory_is_refused) {
  constexpr std::size_t kOfWorkAndPause = 2;
  std::size_t answered = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Joined among;
    BOOST_TEST(answer_to(among.step_of(*among.p1, among.first, 20)) == "ok");
    const Asked ahead = among.wait_of(*among.p1, among.first, 0);
    BOOST_TEST(answer_to(ahead) == "waits");
    among.pool->keeps = true;
    static_cast<void>(among.step_of(*among.p2, among.second, 20));
    among.pool->keeps = false;
    const std::vector<Job> jobs = std::exchange(among.pool->kept, {});
    BOOST_REQUIRE(jobs.size() == 1U);
    {
      const RefusedAllocation refused(n, 0, kOfWorkAndPause);
      jobs[0].run();
      is_refused = refused.happened();
    }
    if (among.core().failure()) continue;
    among.clock->advance(1s);
    const bool is_unanswered = answer_to(ahead) == "waits";
    const Asked query = among.p1->ask("m", "shard/p2.9", msg::ShardQuery{among.second, {"p2", 2, 20}});
    if ((*query)->value().get<msg::ShardOutcome>().state != msg::StepState::applied) continue;
    BOOST_TEST(!is_unanswered, "allocation " << n);
    ++answered;
  }
  BOOST_TEST(answered > 0U);
}

BOOST_AUTO_TEST_CASE(owner_without_memory_for_a_step_says_that_it_was_not_applied) {
  std::size_t not_applied = 0;
  bool is_refused = true;
  for (std::size_t n = 1; is_refused; ++n) {
    Joined among;
    among.pool->keeps = true;
    const Asked step = among.step_of(*among.p1, among.first, 20);
    among.pool->keeps = false;
    const std::vector<Job> jobs = std::exchange(among.pool->kept, {});
    BOOST_REQUIRE(jobs.size() == 1U);
    {
      const RefusedAllocation refused(n);
      jobs[0].run();
      is_refused = refused.happened();
    }
    if (among.core().failure()) continue;
    const std::string answer = answer_to(step);
    BOOST_TEST((answer.find("second buffers") == std::string::npos || answer.find("step_not_applied") == 0U), answer);
    if (answer.find("step_not_applied no memory for the second buffers") == 0U) ++not_applied;
  }
  BOOST_TEST(not_applied > 0U);
}

BOOST_FIXTURE_TEST_CASE(wait_of_a_handle_that_is_released_fails, Joined) {
  BOOST_TEST(answer_to(step_of(*p1, first, 20)) == "ok");
  const Asked ahead = wait_of(*p1, first, 0);
  BOOST_TEST(answer_to(ahead) == "waits");
  p1->say("m", "shard/p1.4", msg::ShardReleased{first, 21});
  BOOST_TEST(answer_to(ahead) == "cancelled the optimizer was released");
}

BOOST_FIXTURE_TEST_CASE(wait_of_a_handle_that_was_released_holds_nobody_up, Joined) {
  const std::vector<msg::StepOwner> both{{"m", {7, 7}}, {"p2", {2, 2}}};
  BOOST_TEST(answer_to(p1->ask("m", "shard/p1.4", msg::ShardPrepare{first, {"p1", 1, 5}, {"p1", 1, 6}, both, 0})) ==
             "ok");
  p1->say("m", "shard/p1.4", msg::ShardReleased{first, 0});
  BOOST_TEST(shards().size() == 2U);  // until p2 says what became of the step
  BOOST_TEST(answer_to(wait_of(*p1, first, 0)) == "cancelled the optimizer was released");
  BOOST_TEST(answer_to(step_of(*p2, second, 20)) == "ok");
  BOOST_TEST(answer_to(wait_of(*p2, second, 0)) == "ok");
}

BOOST_FIXTURE_TEST_CASE(handle_that_is_released_before_the_pool_lets_it_join_holds_nobody_up, Joined) {
  p2->say("m", "shard/p2.9", msg::ShardReleased{second, 0});
  pool->refuses = Error{.code = ErrorCode::resource_exhausted, .message = "all threads wait"};
  BOOST_TEST(answer_to(p2->ask("m", "worker", msg::ShardJoin{{"p2", 2, 10}, first})) == "ok");
  pool->refuses = {};
  p2->say("m", "shard/p2.10", msg::ShardReleased{{"p2", 2, 10}, 0});
  BOOST_TEST(shards().size() == 1U);
  clock->advance(100ms);  // the pool takes what it refused
  for (std::uint64_t serial = 20; serial < 23; ++serial) {
    BOOST_TEST(answer_to(wait_of(*p1, first, 0)) == "ok");
    BOOST_TEST(answer_to(step_of(*p1, first, serial)) == "ok");
  }
}

BOOST_FIXTURE_TEST_CASE(state_in_parts_is_loaded_with_the_last_one, Joined, *boost::unit_test::label("attack")) {
  const msg::ShardSaved saved = saved_by(*p1, first, 0);
  BOOST_TEST(saved.all == saved.names.size());
  const auto part = [&](std::uint64_t serial, std::size_t begin, std::size_t end, bool is_last) {
    msg::ShardLoad load{first, {"p1", 1, serial}, {{"m", {7, 7}}}, 0, {}, {}, begin, is_last};
    load.names.assign(saved.names.begin() + static_cast<std::ptrdiff_t>(begin),
                      saved.names.begin() + static_cast<std::ptrdiff_t>(end));
    load.tensors.assign(saved.tensors.begin() + static_cast<std::ptrdiff_t>(begin),
                        saved.tensors.begin() + static_cast<std::ptrdiff_t>(end));
    return answer_to(p1->ask("m", "shard/p1.4", std::move(load)));
  };
  BOOST_TEST(part(30, 0, 1, false) == "ok");
  BOOST_TEST(saved_by(*p1, first, 0).open == 0U);
  BOOST_TEST(part(30, 1, saved.names.size(), true) == "ok");
  BOOST_TEST(saved_by(*p1, first, 0).open == 1U);
  p1->say("m", "shard/p1.4", msg::ShardAbort{first, {"p1", 1, 30}});

  BOOST_TEST(part(31, 1, 2, false) == "protocol_violation a part of a state begins with tensor 1, after 0 tensors");
  BOOST_TEST(part(32, 0, 1, false) == "ok");
  p1->say("m", "shard/p1.4", msg::ShardAbort{first, {"p1", 1, 32}});
  BOOST_TEST(part(32, 1, 2, true) == "step_not_applied step p1.32 was aborted");
  const std::size_t many = 70'000;
  BOOST_TEST(answer_to(p1->ask("m", "shard/p1.4",
                               msg::ShardLoad{first,
                                              {"p1", 1, 33},
                                              {{"m", {7, 7}}},
                                              0,
                                              std::vector<std::string>(many, "x"),
                                              std::vector<Tensor>(many),
                                              0,
                                              false}))
                 .find("a state of 70000 tensors for 0 parameters") != std::string::npos);
  for (std::uint64_t serial = 100; serial < 100 + kUnresolvedStepsMax; ++serial)
    BOOST_TEST(part(serial, 0, 1, false) == "ok");
  BOOST_TEST(part(200, 0, 1, false) == "protocol_violation too many states are unfinished");
}

BOOST_FIXTURE_TEST_CASE(part_of_a_state_that_its_abort_has_overtaken_is_not_kept, Joined) {
  const auto first_part = [&](std::uint64_t serial, std::uint64_t settled) {
    return answer_to(p1->ask("m", "shard/p1.4",
                             msg::ShardLoad{first,
                                            {"p1", 1, serial},
                                            {{"m", {7, 7}}},
                                            settled,
                                            {"groups.0.sgd.lr"},
                                            {full({}, 1.0, DType::f64)},
                                            0,
                                            false}));
  };
  for (std::uint64_t serial = 100; serial < 100 + kUnresolvedStepsMax; ++serial) {
    p1->say("m", "shard/p1.4", msg::ShardAbort{first, {"p1", 1, serial}});
    BOOST_TEST(first_part(serial, 100) == fmt::format("step_not_applied step p1.{} was aborted", serial));
  }
  for (std::uint64_t serial = 200; serial < 200 + kUnresolvedStepsMax; ++serial)
    BOOST_TEST(first_part(serial, 200) == "ok");
  BOOST_TEST(first_part(300, 200) == "protocol_violation too many states are unfinished");
  BOOST_TEST(first_part(300, 300) == "ok");  // the driver has ended all before
}

BOOST_AUTO_TEST_CASE(step_that_was_applied_is_never_reported_otherwise_whatever_memory_is_refused) {
  std::uint64_t n = 1;
  for (;; ++n) {
    const OptimizerId optimizer{"p1", 1, 100 + n};
    const StepId step{"p1", 1, 5};
    BOOST_REQUIRE(answer_to(create(100 + n, {})) == "ok");
    const auto ask = [&] {
      return p1->ask("m", "shard/" + optimizer.text(), msg::ShardStep{optimizer, step, {"p1", 1, 6}, 0, {}});
    };
    pool->keeps = true;
    const Asked asked = ask();
    pool->keeps = false;
    const std::vector<Job> jobs = std::exchange(pool->kept, {});
    BOOST_REQUIRE(jobs.size() == 1U);
    {
      const RefusedAllocation refused(n);
      jobs[0].run();
    }
    if (core().stopped()) break;  // the refused one was of the router, which sends the answer
    BOOST_REQUIRE(asked->has_value());
    const Asked query = p2->ask("m", "shard/" + optimizer.text(), msg::ShardQuery{optimizer, step});
    BOOST_REQUIRE(answer_to(query) == "ok");
    const bool is_applied = (*query)->value().get<msg::ShardOutcome>().state == msg::StepState::applied;
    if (!(*asked)->ok()) BOOST_TEST(((*asked)->error().execution == Execution::never) == !is_applied, answer_to(asked));
    const Asked again = ask();
    BOOST_REQUIRE(answer_to(again) == "ok");
    BOOST_TEST((*again)->value().get<msg::ShardStepped>().version == 1U);
  }
  BOOST_TEST(n > 5U);
}

BOOST_FIXTURE_TEST_CASE(state_is_given_at_its_version_while_no_step_is_open, Joined) {
  BOOST_TEST(saved_by(*p1, first, {}).names.empty());
  const msg::ShardSaved saved = saved_by(*p1, first, 0);
  BOOST_REQUIRE(!saved.names.empty());
  BOOST_TEST(saved.names.front() == "groups.0.sgd.lr");
  BOOST_TEST(saved.names.size() == saved.tensors.size());
  BOOST_TEST(saved_by(*p1, first, 1).names.empty());
  const std::vector<msg::StepOwner> alone{{"m", {7, 7}}};
  BOOST_TEST(answer_to(p2->ask("m", "shard/p2.9", msg::ShardPrepare{second, {"p2", 2, 5}, {"p2", 2, 6}, alone, 0})) ==
             "ok");
  BOOST_TEST(saved_by(*p1, first, 0).open == 1U);
  BOOST_TEST(saved_by(*p1, first, 0).names.empty());
  p2->die();
  BOOST_TEST(saved_by(*p1, first, 0).open == 0U);
  BOOST_TEST(!saved_by(*p1, first, 0).names.empty());
}

BOOST_FIXTURE_TEST_CASE(loaded_state_is_checked_and_shows_with_its_commit, Joined) {
  const auto load = [&](std::vector<std::string> names, std::vector<Tensor> tensors, std::uint64_t serial) {
    return p1->ask("m", "shard/p1.4",
                   msg::ShardLoad{first, {"p1", 1, serial}, {{"m", {7, 7}}}, 0, std::move(names), std::move(tensors)});
  };
  BOOST_TEST(answer_to(load({"groups.0.sgd.lr"}, {}, 30)) ==
             "protocol_violation a state has not one name for each tensor");
  BOOST_TEST(answer_to(load({}, {}, 31)).find("bad_argument [load_state_dict] missing: groups.0.sgd.lr") == 0U);
  BOOST_TEST(answer_to(p1->ask("m", "shard/p1.4", msg::ShardLoad{first, {"p1", 1, 32}, {}, 0, {}, {}})) ==
             "protocol_violation the owners of a step are named in order, this one among them");
  const msg::ShardSaved saved = saved_by(*p1, first, 0);
  BOOST_TEST(answer_to(load(saved.names, saved.tensors, 33)) == "ok");
  BOOST_TEST(saved_by(*p1, first, {}).version == 0U);
  for (int copy = 0; copy < 2; ++copy) {
    BOOST_TEST(answer_to(p1->ask("m", "shard/p1.4", msg::ShardCommit{first, {"p1", 1, 33}, 0})) == "ok");
    BOOST_TEST(saved_by(*p1, first, {}).version == 1U);
  }
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
