#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/references/fetches.h"
#include "actors/references/references.h"
#include "actors/references/rref_handle.h"
#include "actors/references/rref_owner_actor.h"
#include "node/local_cluster.h"
#include "tests/actors/references/among_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(rref_owner_actor)

namespace {

template <class Condition>
bool soon(Condition holds) {
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

struct Owner {
  Owner() : cluster({"ps0"}, FunctionRegistry{}) {}

  [[nodiscard]] detail::NodeCore& core() { return cluster.node("ps0").core(); }
  [[nodiscard]] detail::References& references() { return core().references(); }

  /// The router's first step: the table of lives learns of the life.
  void came(const NodeLife& life) { BOOST_REQUIRE(core().lives().begin({life.name, life.incarnation, {}})); }
  void went(const NodeLife& life) {
    core().lives().end(life, Error{});
    references().peer_down({life.name, life.incarnation, {}}, Error{});
  }

  LocalCluster cluster;
};

}  // namespace

// The owner's last turn puts the use into the owner's mailbox, behind the messages that end the value's life.
BOOST_FIXTURE_TEST_CASE(a_use_that_comes_behind_the_last_release_is_told_that_the_value_is_gone, Owner) {
  auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const RRefId rref = handle->id();
  std::optional<ErrorCode> told;
  references().use(
      rref, detail::UseKind::reads, [&](const Result<detail::ValueBox>& value, std::shared_ptr<detail::ValueUse> use) {
        BOOST_REQUIRE(value.ok());
        handle.reset();
        use.reset();
        references().use(rref, detail::UseKind::reads,
                         [&](const Result<detail::ValueBox>& late, const std::shared_ptr<detail::ValueUse>& no_use) {
                           BOOST_TEST(!no_use);
                           if (!late.ok()) told = late.error().code;
                         });
      });
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST((*told == ErrorCode::ref_revoked));
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_use_that_comes_behind_the_stop_is_told_why, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  Error why;
  why.code = ErrorCode::shutting_down;
  std::optional<ErrorCode> told;
  references().use(handle->id(), detail::UseKind::reads,
                   [&](const Result<detail::ValueBox>& value, const std::shared_ptr<detail::ValueUse>&) {
                     BOOST_REQUIRE(value.ok());
                     references().stop(why);
                     references().use(
                         handle->id(), detail::UseKind::reads,
                         [&](const Result<detail::ValueBox>& late, const std::shared_ptr<detail::ValueUse>&) {
                           if (!late.ok()) told = late.error().code;
                         });
                   });
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST((*told == ErrorCode::shutting_down));
}

/// The answer to a use: it begins, or why it never will.
struct Told {
  std::optional<ErrorCode> error;
  std::shared_ptr<detail::ValueUse> use;

  [[nodiscard]] bool waits() const { return !error && !use; }
};

detail::UseHandler telling(const std::shared_ptr<Told>& told) {
  return [told](const Result<detail::ValueBox>& value, std::shared_ptr<detail::ValueUse> use) {
    if (!value) told->error = value.error().code;
    told->use = std::move(use);
  };
}

NodeLife life_of_user(std::uint64_t number) { return {"user", {number, 0}}; }

BOOST_FIXTURE_TEST_CASE(fetches_of_a_peer_that_takes_no_answers_wait_without_a_turn_and_keep_the_value, Owner) {
  const NodeLife user = life_of_user(1);
  came(user);
  auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const RRefId rref = handle->id();
  detail::AnswerBacklog& answers = core().accounts().answers;
  const AnswerTotals too_much{.small_bytes = 0, .large_bytes = PeerLimits{}.answer_bytes_max + 1, .large = 2};
  for (const std::size_t bytes : {too_much.large_bytes - 1, std::size_t{1}}) {
    answers.sent(user, {std::vector<Piece>(2), bytes});
  }
  const auto begun = std::make_shared<CreditAccount>([] {});
  const msg::RRefFetch fetch{{rref}, msg::Wanted::value, {}};
  {
    detail::Delivery delivery{user.name, user.incarnation, {}, fetch, {}, {}};
    delivery.credit = std::make_shared<CallCredit>(begun, Charge::call, 0);
    detail::serve_fetch(core(), delivery, fetch);
  }
  BOOST_TEST(core().counts().served_calls == 1U);
  const auto other = std::make_shared<Told>();
  references().use(rref, detail::UseKind::reads, telling(other));
  BOOST_TEST(other->use != nullptr);  // the turn is free
  other->use.reset();
  handle.reset();
  BOOST_TEST(references().owned_values() == 1U);
  BOOST_TEST(begun->calls(Charge::call) == 0U);
  for (const auto& begin : answers.taken(user, too_much)) begin();
  BOOST_TEST(soon([&] { return begun->calls(Charge::call) == 1; }));
  BOOST_TEST(soon([&] { return references().owned_values() == 0 && core().counts().served_calls == 0; }));
}

BOOST_FIXTURE_TEST_CASE(uses_that_wait_for_the_value_end_with_the_life_that_asked_for_them, Owner) {
  const auto rref = cluster.node("ps0").core().next_id<RRefId>();
  ForkId fork;
  const auto handle = references().created(rref, fork, "ps0", "i32", SourceLocation::current());
  const auto of_first = std::make_shared<Told>();
  const auto of_second = std::make_shared<Told>();
  const auto of_nobody = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::reads, "first", life_of_user(1)}, telling(of_first));
  references().use(rref, {detail::UseKind::reads, "second", life_of_user(2)}, telling(of_second));
  references().use(rref, detail::UseKind::reads, telling(of_nobody));
  came(life_of_user(1));
  went(life_of_user(1));
  BOOST_TEST((of_first->error == ErrorCode::cancelled));
  BOOST_TEST(of_second->waits());
  BOOST_TEST(of_nobody->waits());
  const auto late = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::reads, "late", life_of_user(1)}, telling(late));
  BOOST_TEST((late->error == ErrorCode::cancelled));
  Error never;
  never.code = ErrorCode::remote_exception;
  references().creation_ended(*handle, fork, never);
  BOOST_TEST((of_second->error == ErrorCode::remote_exception));
  BOOST_TEST((of_nobody->error == ErrorCode::remote_exception));
}

BOOST_FIXTURE_TEST_CASE(value_that_only_a_dead_node_waited_for_is_released, Owner) {
  const auto rref = cluster.node("ps0").core().next_id<RRefId>();
  ForkId fork;
  auto handle = references().created(rref, fork, "ps0", "i32", SourceLocation::current());
  const auto told = std::make_shared<Told>();
  references().use(rref, {detail::UseKind::looks, "look", life_of_user(1)}, telling(told));
  handle.reset();
  BOOST_TEST(references().owned_values() == 1U);
  references().peer_down({"user", {1, 0}, {}}, Error{});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(use_that_waits_for_its_turn_ends_with_who_asked_and_the_turn_goes_to_the_next, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const auto running = std::make_shared<Told>();
  const auto of_first = std::make_shared<Told>();
  const auto of_second = std::make_shared<Told>();
  references().use(handle->id(), {detail::UseKind::reads, "running", life_of_user(1)}, telling(running));
  references().use(handle->id(), {detail::UseKind::reads, "first", life_of_user(1)}, telling(of_first));
  references().use(handle->id(), {detail::UseKind::reads, "second", life_of_user(2)}, telling(of_second));
  references().peer_down({"user", {1, 0}, {}}, Error{});
  BOOST_TEST((running->use != nullptr));  // the use has begun: its stop_token is set
  BOOST_TEST((of_first->error == ErrorCode::cancelled));
  BOOST_TEST(of_second->waits());
  running->use.reset();
  BOOST_TEST((of_second->use != nullptr));
}

BOOST_FIXTURE_TEST_CASE(use_that_is_withdrawn_before_it_begins_is_told_so_and_the_turn_goes_past_it, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current());
  const auto running = std::make_shared<Told>();
  const auto withdrawn = std::make_shared<Told>();
  const auto last = std::make_shared<Told>();
  const TurnId first = references().next_turn();
  const TurnId second = references().next_turn();
  references().use(handle->id(), first, detail::UseKind::reads, telling(running));
  references().use(handle->id(), second, detail::UseKind::reads, telling(withdrawn));
  references().use(handle->id(), detail::UseKind::reads, telling(last));
  references().withdraw(handle->id(), first);  // it has begun: no effect
  BOOST_TEST((running->use != nullptr));
  references().withdraw(handle->id(), second);
  BOOST_TEST((withdrawn->error == ErrorCode::cancelled));
  running->use.reset();
  BOOST_TEST((last->use != nullptr));
}

BOOST_FIXTURE_TEST_CASE(uses_of_a_value_that_is_shared_do_not_wait_for_each_other, Owner) {
  const auto handle = references().own(detail::ValueBox::of(7), "i32", SourceLocation::current(), Sharing::concurrent);
  const auto first = std::make_shared<Told>();
  const auto second = std::make_shared<Told>();
  references().use(handle->id(), detail::UseKind::changes, telling(first));
  references().use(handle->id(), detail::UseKind::changes, telling(second));
  BOOST_TEST((first->use != nullptr));
  BOOST_TEST((second->use != nullptr));
}

// The directory told nothing to an owner that did not exist yet: the owner checks the life itself.
BOOST_FIXTURE_TEST_CASE(words_about_a_life_that_is_over_leave_nothing_at_the_owner, Owner) {
  const NodeLife dead = life_of_user(1);
  came(dead);
  went(dead);
  detail::RRefOwnerState state;
  state.begin(core(), core().next_id<RRefId>(), [] {});
  BOOST_TEST(state.forks().hold());
  state.handed_out({{"ps0", core().incarnation().low, 1}, dead});
  state.forked({{"user", dead.incarnation.low, 1}, dead, "ps0"});
  state.deleted({{"user", dead.incarnation.low, 2}, dead});
  BOOST_TEST(state.forks().text() == "created, 1 held here");
  state.handed_out({{"ps0", core().incarnation().low, 2}, life_of_user(2)});
  BOOST_TEST(state.forks().fork_count() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_word_of_a_life_that_is_over_makes_no_owner, Owner) {
  const NodeLife dead{"user", {1, 5}};
  came(dead);
  core().lives().end(dead, Error{});  // the references have not been told yet
  references().use(RRefId{"user", 5, 1}, detail::UseKind::looks, telling(std::make_shared<Told>()));
  BOOST_TEST(references().owned_values() == 0U);
}

// One thread makes each value, which no call has created, be forgotten; another reports a handle of it meanwhile.
BOOST_FIXTURE_TEST_CASE(a_handle_of_a_value_that_is_being_forgotten_is_not_lost, Owner) {
  const NodeLife creator{"a", {1, 1}};
  const NodeLife user{"b", {2, 2}};
  const NodeLife holder{"c", {3, 3}};
  for (const NodeLife& life : {creator, user, holder}) came(life);
  constexpr std::uint64_t kValues = 200;
  std::atomic<std::uint64_t> reported{0};
  std::atomic<std::uint64_t> used{0};
  const auto value = [](std::uint64_t i) { return RRefId{"a", 1, i + 1}; };
  const std::jthread reports([&] {
    for (std::uint64_t i = 0; i < kValues; ++i) {
      while (used.load() < i) std::this_thread::yield();
      references().handle(holder, msg::RRefForked{value(i), {"a", 1, i + 1}, "a"});
      reported.store(i + 1);
    }
  });
  for (std::uint64_t i = 0; i < kValues; ++i) {
    used.store(i);
    do {
      const TurnId turn = references().next_turn();
      references().use(value(i), turn, {detail::UseKind::looks, "a look", user}, telling(std::make_shared<Told>()));
      references().withdraw(value(i), turn);
    } while (reported.load() <= i);
  }
  BOOST_TEST(soon([&] { return references().owned_values() == kValues; }));
  BOOST_TEST(core().accounts().forks.counts().at("c") == kValues);
}

BOOST_FIXTURE_TEST_CASE(a_value_that_no_call_has_made_is_forgotten_after_the_last_word_that_was_on_its_way,
                        testing::AmongValues) {
  const RRefId rref{"p1", 1, 5};
  const TurnId turn = references().next_turn();
  detail::Query<ValueInUse> query(core().future_home());
  references().use(rref, turn, {detail::UseKind::looks, "a look", p2->life()},
                   [&](const Result<detail::ValueBox>&, const std::shared_ptr<detail::ValueUse>&) {
                     references().list_users(query.slot());
                   });
  BOOST_TEST(references().owned_values() == 1U);
  references().withdraw(rref, turn);
  BOOST_TEST(query.wait({}).complete);
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_handle_that_rests_on_an_owner_that_is_gone_fails_at_once, Owner) {
  const NodeLife owner{"owner", {1, 5}};
  came(owner);
  went(owner);
  const msg::RRefHandout handout{{"owner", 5, 1}, {"parent", 9, 1}, owner.name, owner.incarnation, "parent", "i32"};
  const auto handle = references().received({&handout, 1}, "parent").front();
  BOOST_REQUIRE(references().failure(*handle).has_value());
  BOOST_TEST((references().failure(*handle)->code == ErrorCode::owner_died));
}

/// A value that is read as a stream is, and counts how often it is asked to stop.
struct CountedStream {
  int stops = 0;
  void advance() {}
  void save_element(OutArchive&) {}
  void stop() { ++stops; }
};

// What stops is user code: stop callbacks of the stream's function.
BOOST_FIXTURE_TEST_CASE(a_stream_that_nobody_can_read_is_stopped_once_and_by_the_pool, testing::AmongValues) {
  const auto source = std::make_shared<CountedStream>();
  auto handle = references().own({source, &detail::value_ops<CountedStream>()}, "stream", SourceLocation::current());
  const auto reading = std::make_shared<Told>();
  references().use(handle->id(), detail::UseKind::reads, telling(reading));
  BOOST_REQUIRE((reading->use != nullptr));
  pool->keeps = true;
  handle.reset();
  BOOST_TEST(source->stops == 0);
  BOOST_REQUIRE(pool->kept.size() == 1U);
  BOOST_TEST((pool->kept[0].urgency == Urgency::at_once));
  pool->kept[0].run();
  BOOST_TEST(source->stops == 1);
  p1->die();  // a word to every owner
  BOOST_TEST(pool->kept.size() == 1U);
  reading->use.reset();
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_copy_that_is_read_during_a_change_is_out_of_date_at_once, testing::AmongValues) {
  const auto handle =
      references().own(detail::ValueBox::of(std::int64_t{7}), "i64", SourceLocation::current(), Sharing::concurrent);
  const auto copies_out_of_date = [&] {
    BOOST_TEST(testing::outcome(testing::fetch(*p1, handle->id(), msg::Wanted::cached)) == "ok");
    return p1->take<msg::RRefChanged>().size();
  };
  const auto change = std::make_shared<Told>();
  const auto reading = std::make_shared<Told>();
  references().use(handle->id(), detail::UseKind::reads, telling(reading));
  BOOST_TEST(copies_out_of_date() == 0U);
  references().use(handle->id(), detail::UseKind::changes, telling(change));
  BOOST_TEST(p1->take<msg::RRefChanged>().size() == 1U);
  BOOST_TEST(copies_out_of_date() == 1U);
  BOOST_TEST(copies_out_of_date() == 1U);
  change->use->give_up_turn();
  BOOST_TEST(copies_out_of_date() == 0U);  // the change waits
  change->use->ask_for_turn([] {});
  BOOST_TEST(p1->take<msg::RRefChanged>().size() == 1U);
  BOOST_TEST(copies_out_of_date() == 1U);
  change->use.reset();
  BOOST_TEST(p1->take<msg::RRefChanged>().empty());
  BOOST_TEST(copies_out_of_date() == 0U);
  BOOST_TEST(testing::outcome(testing::fetch(*p1, handle->id(), msg::Wanted::cached)) == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
