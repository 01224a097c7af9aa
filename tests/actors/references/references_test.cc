#include "actors/references/references.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/rref.h"
#include "tensor/create.h"
#include "tests/actors/references/among_values.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::ValueBox;

BOOST_AUTO_TEST_SUITE(references)
BOOST_FIXTURE_TEST_SUITE(of_values_elsewhere, AmongValues)

BOOST_AUTO_TEST_CASE(a_handle_that_came_is_told_to_its_owner_and_again_when_it_goes) {
  auto handle = received();
  const auto forked = p1->take_heard<msg::RRefForked>();
  BOOST_REQUIRE(forked.size() == 1U);
  BOOST_TEST(forked[0].to == "p1/rref/p1.5");
  const auto& word = forked[0].message.get<msg::RRefForked>();
  BOOST_TEST((word.rref == RRefId{"p1", 1, 5}));
  BOOST_TEST((word.fork == ForkId{"p2", 2, 9}));
  BOOST_TEST(word.parent == "p2");
  BOOST_TEST(!references().is_confirmed(*handle));
  BOOST_TEST(references().unconfirmed_forks() == 1U);
  BOOST_TEST(references().forks() == 1U);
  BOOST_TEST(references().handles() == 1U);
  BOOST_REQUIRE(references().held().size() == 1U);
  BOOST_TEST(references().held()[0].find("p1.5 on p1, received from p2") != std::string::npos, references().held()[0]);
  p1->say("m", "references", msg::RRefForkAck{{{word.rref, word.fork}}});
  BOOST_TEST(references().is_confirmed(*handle));
  BOOST_TEST(references().unconfirmed_forks() == 0U);
  BOOST_TEST(p1->take<msg::RRefDeleted>().empty());
  handle.reset();
  const auto deleted = p1->take_heard<msg::RRefDeleted>();
  BOOST_REQUIRE(deleted.size() == 1U);
  BOOST_TEST(deleted[0].to == "p1/rref/p1.5");
  BOOST_TEST((deleted[0].message.get<msg::RRefDeleted>().rref == word.rref));
  BOOST_TEST((deleted[0].message.get<msg::RRefDeleted>().fork == word.fork));
  BOOST_TEST(p1->take<msg::RRefForkAck>().empty());
  BOOST_TEST(references().forks() == 0U);
  BOOST_TEST(references().handles() == 0U);
}

BOOST_AUTO_TEST_CASE(an_owner_hears_of_a_handle_that_came_before_it_was_met_and_never_of_one_that_went_before) {
  const auto of_p3 = [](std::uint64_t serial, Incarnation life) {
    return msg::RRefHandout{{"p3", life.low, serial}, {"p2", 2, serial}, "p3", life, "p2", "i64"};
  };
  BarePeer newcomer(hub, "p3", 3);
  hears_all(newcomer);
  const auto handle = received(of_p3(1, newcomer.self().incarnation), "p2");
  auto dropped = received(of_p3(2, newcomer.self().incarnation), "p2");
  BOOST_TEST(references().forks() == 2U);
  dropped.reset();
  BOOST_TEST(references().forks() == 1U);
  BOOST_TEST(p2->take<msg::RRefForkAck>().size() == 1U);
  newcomer.connect("m");
  const auto forked = newcomer.take<msg::RRefForked>();
  BOOST_REQUIRE(forked.size() == 1U);
  BOOST_TEST((forked[0].rref == handle->id()));
  BOOST_TEST(forked[0].parent == "p2");
  newcomer.say("m", "references", msg::RRefForkAck{{{handle->id(), forked[0].fork}}});
  BOOST_TEST(references().is_confirmed(*handle));
}

BOOST_AUTO_TEST_CASE(handles_of_one_value_are_one_and_each_is_deleted) {
  auto first = received(5, 9);
  auto second = received(5, 10);
  BOOST_TEST(first == second);
  for (const std::uint64_t fork : {9U, 10U})
    p1->say("m", "references", msg::RRefForkAck{{{{"p1", 1, 5}, {"p2", 2, fork}}}});
  first.reset();
  BOOST_TEST(references().handles() == 1U);
  second.reset();
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 2U);
}

BOOST_AUTO_TEST_CASE(handles_that_one_message_returns_to_their_parent_are_acknowledged_together) {
  const auto own1 = confirmed();
  const std::vector<msg::RRefHandout> again{of_p1(5, 10), of_p1(5, 11), of_p1(5, 12)};
  const auto handles = references().received(again, "p2");
  BOOST_TEST_REQUIRE(handles.size() == 3U);
  for (const auto& handle : handles) BOOST_TEST(handle == own1);
  const auto acks = p2->take<msg::RRefForkAck>();
  BOOST_TEST_REQUIRE(acks.size() == 1U);
  BOOST_TEST_REQUIRE(acks[0].forks.size() == 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST((acks[0].forks[i].rref == again[i].rref));
    BOOST_TEST((acks[0].forks[i].fork == again[i].fork));
  }
}

BOOST_AUTO_TEST_CASE(one_acknowledgement_confirms_many_handles_and_passes_over_those_that_are_not_its_senders) {
  const auto first = received(5, 9);
  const auto second = received(6, 10);
  const msg::RRefHandout of_p2{{"p2", 2, 7}, {"p1", 1, 11}, "p2", p2->self().incarnation, "p1", "i64"};
  const auto foreign = received(of_p2, "p1");
  p1->say(
      "m", "references",
      msg::RRefForkAck{{{foreign->id(), {"p1", 1, 11}}, {first->id(), {"p2", 2, 9}}, {second->id(), {"p2", 2, 10}}}});
  BOOST_TEST(references().is_confirmed(*first));
  BOOST_TEST(references().is_confirmed(*second));
  BOOST_TEST(!references().is_confirmed(*foreign));
}

BOOST_AUTO_TEST_CASE(a_handle_of_an_owner_that_was_over_before_it_came_fails) {
  is_over(*p1);
  const auto handle = received();
  BOOST_REQUIRE(references().failure(*handle).has_value());
  BOOST_TEST((references().failure(*handle)->code == ErrorCode::owner_died));
  BOOST_TEST(p2->take<msg::RRefForkAck>().size() == 1U);  // it need not wait for the owner
  BOOST_TEST(p2->take<msg::RRefRevoked>().empty());
}

BOOST_AUTO_TEST_CASE(handles_of_an_owner_that_is_over_are_failed_one_by_one_until_its_end_is_told) {
  const auto before = received(5, 9);
  is_over(*p1);
  const std::vector<msg::RRefHandout> late{of_p1(6, 10), of_p1(7, 11)};
  const auto handles = references().received(late, "p2");
  BOOST_TEST_REQUIRE(handles.size() == 2U);
  for (const auto& handle : handles) BOOST_TEST(references().failure(*handle).has_value());
  BOOST_TEST(!references().failure(*before).has_value());  // those that were there are not looked at for each
  references().peer_down(p1->self(), gone(*p1));
  BOOST_TEST(references().failure(*before).has_value());
}

BOOST_AUTO_TEST_CASE(a_handle_that_the_owner_does_not_count_fails) {
  const auto handle = received();
  BOOST_TEST(!references().failure(*handle).has_value());
  Error why;
  why.code = ErrorCode::ref_revoked;
  p1->say("m", "references", msg::RRefRevoked{{"p1", 1, 5}, {"p2", 2, 9}, why});
  BOOST_REQUIRE(references().failure(*handle).has_value());
  BOOST_TEST((references().failure(*handle)->code == ErrorCode::ref_revoked));
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(handles_fail_with_their_owner) {
  const auto handle = confirmed();
  p1->die();
  BOOST_REQUIRE(references().failure(*handle).has_value());
  BOOST_TEST((references().failure(*handle)->code == ErrorCode::owner_died));
}

BOOST_AUTO_TEST_CASE(a_copy_is_kept_as_long_as_its_reference_can_be_used) {
  const RRef<std::int64_t> rref(confirmed());
  const auto copy = std::make_shared<const std::int64_t>(7);
  rref.shared_handle()->copies().keep(copy, 3);
  BOOST_TEST(rref.cached(*node) == copy);
  p1->die();
  const Error error = error_of([&] { return rref.cached(*node); });
  BOOST_TEST((error.code == ErrorCode::owner_died));
  BOOST_TEST(error.operation == "cached p1.5");
  const AmongBarePeers elsewhere;
  BOOST_TEST((error_of([&] { return rref.cached(*elsewhere.node); }).code == ErrorCode::bad_argument));
  const Scope scope(node->shared_state());
  node.reset();
  BOOST_TEST((error_of([&] { return rref.cached(scope); }).code == ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_CASE(a_copy_that_its_owner_changed_is_out_of_date) {
  const auto handle = confirmed();
  handle->copies().keep(std::make_shared<int>(1), 3);
  p1->say("m", "references", msg::RRefChanged{{"p1", 1, 6}, 4});
  BOOST_TEST(handle->copies().get() != nullptr);
  p1->say("m", "references", msg::RRefChanged{{"p1", 1, 5}, 4});
  BOOST_TEST(handle->copies().get() == nullptr);
}

BOOST_AUTO_TEST_CASE(a_value_whose_creator_never_was_here_ends_with_the_last_peer_that_named_it_and_can_still_begin) {
  const RRefId rref{"p3", 3, 4};
  p1->say("m", "", msg::RRefForked{rref, {"p1", 1, 7}, "p1"});
  const Asked fetched = fetch(*p2, rref);
  BOOST_TEST(references().owned_values() == 1U);
  p1->die();
  BOOST_TEST(references().owned_values() == 1U);  // p2 waits for it
  p2->die();
  BOOST_TEST(references().owned_values() == 0U);
  const auto p3 = peer("p3", 3);
  BOOST_TEST(!references().begin_value(rref, {"p3", 3, 5}, p3->life()).has_value());
  references().set_value(rref, detail::ValueBox::of(std::int64_t{7}));
  BOOST_TEST(outcome(fetch(*p3, rref)) == "ok");
}

BOOST_AUTO_TEST_CASE(a_handle_that_is_handed_on_stays_until_the_owner_knows_the_next) {
  auto handle = confirmed();
  const msg::RRefHandout out = references().hand_out(handle, p2->life());
  BOOST_TEST((out.rref == handle->id()));
  BOOST_TEST(out.fork.creator == "m");
  BOOST_TEST(out.owner == "p1");
  BOOST_TEST((out.owner_incarnation == p1->self().incarnation));
  BOOST_TEST(out.parent == "m");
  BOOST_TEST(out.type == "i64");
  handle.reset();
  BOOST_TEST(p1->take<msg::RRefDeleted>().empty());
  p1->say("m", "references", msg::RRefForkAck{{{out.rref, out.fork}}});
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_handed_on_in_a_message_that_never_left_is_taken_back) {
  auto handle = confirmed();
  const msg::RRefHandout out = references().hand_out(handle, p2->life());
  handle.reset();
  BOOST_TEST(p1->take<msg::RRefDeleted>().empty());
  references().take_back(out);
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_handle_of_a_value_elsewhere_is_none_of_an_owner_that_a_peer_makes_here) {
  auto handle = received();
  p2->say("m", "rref/p1.5", msg::RRefForked{handle->id(), {"p2", 2, 20}, "p1"});  // p1 has the value
  const RRefId rref = handle->id();
  handle.reset();
  BOOST_TEST(outcome(fetch(*p2, rref)) == "waits");
}

BOOST_AUTO_TEST_CASE(nothing_is_handed_to_a_life_that_is_over) {
  const auto handle = confirmed();
  is_over(*p2);
  try {
    static_cast<void>(references().hand_out(handle, p2->life()));
    BOOST_FAIL("it was handed out");
  } catch (const EncodeError& error) {
    BOOST_TEST((error.code() == ErrorCode::peer_down));
  }
}

BOOST_AUTO_TEST_CASE(a_handle_that_failed_is_not_handed_on) {
  const auto handle = confirmed();
  p1->die();
  BOOST_CHECK_THROW(static_cast<void>(references().hand_out(handle, p2->life())), EncodeError);
}

BOOST_AUTO_TEST_CASE(the_creating_call_confirms_the_handle_or_says_that_there_will_be_no_value) {
  ForkId fork;
  const auto create = [&](std::uint64_t serial) {
    return references().created({"m", 7, serial}, fork, "p1", "i64", SourceLocation::current());
  };
  auto made = create(100);
  BOOST_TEST(fork.creator == "m");
  BOOST_TEST((made->owner() == p1->life()));
  BOOST_TEST(!references().is_confirmed(*made));
  references().creation_ended(*made, fork, Unit{});
  BOOST_TEST(references().is_confirmed(*made));
  BOOST_TEST(!made->failure_token().stop_requested());
  made.reset();
  BOOST_TEST(p1->take<msg::RRefDeleted>().size() == 1U);

  Error never;
  never.code = ErrorCode::resource_exhausted;
  never.execution = Execution::never;
  auto refused = create(101);
  references().creation_ended(*refused, fork, never);
  const auto undone = p1->take_heard<msg::RRefRevoked>();
  BOOST_REQUIRE(undone.size() == 1U);
  BOOST_TEST(undone[0].to == "p1/rref/m.101");
  BOOST_TEST((undone[0].message.get<msg::RRefRevoked>().fork == fork));
  BOOST_TEST((undone[0].message.get<msg::RRefRevoked>().error.code == ErrorCode::resource_exhausted));
  BOOST_TEST((references().failure(*refused)->code == ErrorCode::resource_exhausted));
  BOOST_TEST(refused->failure_token().stop_requested());

  Error maybe;
  maybe.code = ErrorCode::timeout;
  maybe.execution = Execution::maybe;
  auto late = create(102);
  references().creation_ended(*late, fork, maybe);
  BOOST_TEST((references().failure(*late)->code == ErrorCode::timeout));
  BOOST_TEST(p1->take<msg::RRefRevoked>().empty());
  late.reset();
  const auto deleted = p1->take<msg::RRefDeleted>();  // the owner may know it
  BOOST_REQUIRE(deleted.size() == 1U);
  BOOST_TEST((deleted[0].fork == fork));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_FIXTURE_TEST_SUITE(of_values_here, AmongValues)

BOOST_AUTO_TEST_CASE(a_value_stays_while_a_peer_holds_what_was_handed_to_it) {
  auto handle = own();
  BOOST_TEST((handle->owner() == life()));
  BOOST_TEST(references().is_confirmed(*handle));
  BOOST_TEST(references().held().empty());  // it lists only values of other nodes
  BOOST_TEST(references().forks() == 0U);
  const msg::RRefHandout out = references().hand_out(handle, p2->life());
  BOOST_TEST((out.owner_incarnation == core().incarnation()));
  handle.reset();
  BOOST_TEST(references().handles() == 0U);
  BOOST_TEST(references().owned_values() == 1U);
  BOOST_TEST(outcome(fetch(*p2, out.rref)) == "ok");
  p1->say("m", "rref/" + out.rref.text(), msg::RRefDeleted{out.rref, out.fork});  // not its own fork
  BOOST_TEST(references().owned_values() == 1U);
  p2->say("m", "rref/" + out.rref.text(), msg::RRefDeleted{out.rref, out.fork});
  BOOST_TEST(references().owned_values() == 0U);
  BOOST_TEST(outcome(fetch(*p2, out.rref)) == "ref_revoked");
}

/// Its end is the code of a user.
struct Holding {
  std::shared_ptr<int> held;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(*held);
  }
};

// A destructor that waits for an answer would wait for the thread that delivers it.
BOOST_AUTO_TEST_CASE(a_value_that_ends_while_all_threads_wait_is_destroyed_by_the_first_that_is_free) {
  const auto held = std::make_shared<int>(1);
  auto handle = references().own(ValueBox::of(Holding{held}), "holding", SourceLocation::current());
  const msg::RRefHandout out = references().hand_out(handle, p2->life());
  handle.reset();
  pool->all_wait = true;
  p2->say("m", "rref/" + out.rref.text(), msg::RRefDeleted{out.rref, out.fork});
  BOOST_TEST(references().owned_values() == 0U);
  BOOST_TEST(held.use_count() == 2);
  BOOST_REQUIRE(pool->kept.size() == 1U);
  pool->kept[0].run();
  BOOST_TEST(held.use_count() == 1);
}

// Many values that end would hold up the calls behind them.
BOOST_AUTO_TEST_CASE(a_value_that_ends_waits_for_a_thread_behind_the_calls_that_wait) {
  const auto held = std::make_shared<int>(1);
  auto handle = references().own(ValueBox::of(Holding{held}), "holding", SourceLocation::current());
  pool->keeps = true;
  handle.reset();
  BOOST_REQUIRE(pool->kept.size() == 1U);
  BOOST_TEST((pool->kept[0].urgency == Urgency::in_turn));
  BOOST_TEST(held.use_count() == 2);
  pool->kept[0].run();
  BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(what_is_handed_out_in_vain_keeps_no_value) {
  auto taken_back = own();
  references().take_back(references().hand_out(taken_back, p2->life()));
  taken_back.reset();
  BOOST_TEST(references().owned_values() == 0U);
  auto to_nobody = own();
  static_cast<void>(references().hand_out(to_nobody, {"p9", {9, 9}}));
  to_nobody.reset();
  BOOST_TEST(references().owned_values() == 0U);
  auto to_the_dead = own();
  static_cast<void>(references().hand_out(to_the_dead, p2->life()));
  to_the_dead.reset();
  BOOST_TEST(references().owned_values() == 1U);
  p2->die();
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_handle_that_comes_home_stands_for_the_value_itself) {
  auto handle = own();
  const RRefId rref = handle->id();
  const msg::RRefHandout to_p2 = references().hand_out(handle, p2->life());
  handle.reset();
  auto home = received({rref, {"p2", 2, 30}, "m", core().incarnation(), "p2", "i64"}, "p2");
  const auto known = p2->take_heard<msg::RRefForkAck>();
  BOOST_REQUIRE(known.size() == 1U);
  BOOST_TEST(known[0].to == "p2/references");
  BOOST_TEST((known[0].message.get<msg::RRefForkAck>().forks.at(0).rref == rref));
  BOOST_TEST((known[0].message.get<msg::RRefForkAck>().forks.at(0).fork == ForkId{"p2", 2, 30}));
  p2->say("m", "rref/" + rref.text(), msg::RRefDeleted{rref, to_p2.fork});
  BOOST_TEST(references().owned_values() == 1U);
  home.reset();
  BOOST_TEST(references().owned_values() == 0U);
  // The value is gone: the node that passed the handle on need not wait.
  const auto late = received({rref, {"p2", 2, 31}, "m", core().incarnation(), "p2", "i64"}, "p2");
  const auto again = p2->take<msg::RRefForkAck>();
  BOOST_REQUIRE(again.size() == 1U);
  BOOST_TEST((again[0].forks.at(0).fork == ForkId{"p2", 2, 31}));
}

BOOST_AUTO_TEST_CASE(handles_that_one_message_brings_home_are_acknowledged_together) {
  std::vector<std::shared_ptr<detail::RRefHandle>> handles;
  std::vector<msg::RRefHandout> sent;
  for (std::uint64_t i = 0; i < 3; ++i) handles.push_back(own());
  for (std::uint64_t i = 0; i < 3; ++i)
    sent.push_back({handles[i]->id(), {"p2", 2, 30 + i}, "m", core().incarnation(), "p2", "i64"});
  handles[1].reset();  // its value is gone, and the parent need not wait
  auto home = references().received(sent, "p2");
  BOOST_TEST(home[0] == handles[0]);
  BOOST_TEST(home[2] == handles[2]);
  const auto acks = p2->take<msg::RRefForkAck>();
  BOOST_TEST_REQUIRE(acks.size() == 1U);
  BOOST_TEST(acks[0].forks.size() == 3U);
  for (const auto& [rref, fork] : acks[0].forks) {
    const auto at = std::find_if(sent.begin(), sent.end(), [&](const auto& each) { return each.rref == rref; });
    BOOST_TEST_REQUIRE((at != sent.end()));
    BOOST_TEST((at->fork == fork));
  }
  handles.clear();
  BOOST_TEST(references().owned_values() == 2U);
  home.clear();
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_fork_is_known_to_who_passed_it_on_and_to_who_holds_it) {
  auto handle = own();
  const RRefId rref = handle->id();
  const ForkId fork{"p1", 1, 40};
  p2->say("m", "rref/" + rref.text(), msg::RRefForked{rref, fork, "p1"});
  BOOST_TEST(p1->take<msg::RRefForkAck>().size() == 1U);
  BOOST_TEST(p2->take<msg::RRefForkAck>().size() == 1U);
  handle.reset();
  BOOST_TEST(references().owned_values() == 1U);
  p2->say("m", "rref/" + rref.text(), msg::RRefDeleted{rref, fork});
  BOOST_TEST(references().owned_values() == 0U);
  const ForkId late{"p1", 1, 41};
  p2->say("m", "rref/" + rref.text(), msg::RRefForked{rref, late, "p1"});
  const auto parent = p1->take_heard<msg::RRefForkAck>();
  BOOST_REQUIRE(parent.size() == 1U);
  BOOST_TEST(parent[0].to == "p1/references");
  BOOST_TEST((parent[0].message.get<msg::RRefForkAck>().forks.at(0).fork == late));
  const auto revoked = p2->take_heard<msg::RRefRevoked>();
  BOOST_REQUIRE(revoked.size() == 1U);
  BOOST_TEST(revoked[0].to == "p2/references");
  const auto& word = revoked[0].message.get<msg::RRefRevoked>();
  BOOST_TEST((word.rref == rref));
  BOOST_TEST((word.fork == late));
  BOOST_TEST((word.error.code == ErrorCode::ref_revoked));
  BOOST_TEST((word.error.execution == Execution::never));
  BOOST_TEST(word.error.peer == "m");
  BOOST_TEST(word.error.operation == "rref " + rref.text());
  BOOST_TEST(word.error.message == "the value has been released");
}

BOOST_AUTO_TEST_CASE(a_value_whose_creator_says_that_none_will_come_is_that_error) {
  const RRefId rref{"p1", 1, 5};
  const ForkId fork{"p1", 1, 6};
  p2->say("m", "rref/p1.5", msg::RRefForked{rref, fork, "p1"});
  const Asked waiting = fetch(*p2, rref);
  Error why;
  why.code = ErrorCode::resource_exhausted;
  p2->say("m", "rref/p1.5", msg::RRefRevoked{rref, {"p1", 1, 4}, why});  // p2 did not create it
  BOOST_TEST(outcome(waiting) == "waits");
  BOOST_TEST(references().owned_values() == 1U);
  p1->say("m", "rref/p1.5", msg::RRefRevoked{rref, {"p1", 1, 4}, why});
  BOOST_TEST(outcome(waiting) == "resource_exhausted");
  BOOST_TEST(references().owned_values() == 1U);
  p2->say("m", "rref/p1.5", msg::RRefDeleted{rref, fork});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(a_value_whose_creator_went_before_its_call_came_can_no_longer_begin) {
  const RRefId rref{"p1", 1, 5};
  p2->say("m", "rref/p1.5", msg::RRefForked{rref, {"p1", 1, 6}, "p1"});
  const Asked waiting = fetch(*p2, rref);
  BOOST_TEST(outcome(waiting) == "waits");
  p1->die();
  BOOST_TEST(outcome(waiting) == "ref_revoked");
  p2->say("m", "rref/p1.5", msg::RRefDeleted{rref, {"p1", 1, 6}});
  BOOST_TEST(references().owned_values() == 0U);
  p2->say("m", "rref/p1.8", msg::RRefForked{{"p1", 1, 8}, {"p1", 1, 9}, "p1"});
  BOOST_TEST(p2->take<msg::RRefRevoked>().size() == 1U);
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_CASE(who_keeps_a_copy_hears_once_that_the_value_changed) {
  const Variable w(ones({2}));
  const auto handle = references().own(detail::ValueBox::of(w), "Variable", SourceLocation::current());
  BOOST_TEST(outcome(fetch(*p1, handle->id(), msg::Wanted::cached)) == "ok");
  BOOST_TEST(outcome(fetch(*p2, handle->id())) == "ok");
  references().changed(w, nullptr);
  const auto changed = p1->take_heard<msg::RRefChanged>();
  BOOST_REQUIRE(changed.size() == 1U);
  BOOST_TEST(changed[0].to == "p1/references");
  BOOST_TEST((changed[0].message.get<msg::RRefChanged>().rref == handle->id()));
  BOOST_TEST(p2->take<msg::RRefChanged>().empty());
  references().changed(w, nullptr);
  BOOST_TEST(p1->take<msg::RRefChanged>().empty());
}

BOOST_AUTO_TEST_CASE(copies_through_every_reference_to_a_variable_are_out_of_date_when_it_changes) {
  const Variable w(ones({2}));
  const auto own_w = [&] { return references().own(detail::ValueBox::of(w), "Variable", SourceLocation::current()); };
  const auto first = own_w();
  auto second = own_w();
  BOOST_TEST(outcome(fetch(*p1, first->id(), msg::Wanted::cached)) == "ok");
  BOOST_TEST(outcome(fetch(*p2, second->id(), msg::Wanted::cached)) == "ok");
  references().changed(Variable(ones({2})), nullptr);
  BOOST_TEST(p1->take<msg::RRefChanged>().empty());
  references().changed(w, nullptr);
  BOOST_TEST(p1->take_heard<msg::RRefChanged>().size() == 1U);
  BOOST_TEST(p2->take_heard<msg::RRefChanged>().size() == 1U);
  second.reset();
  BOOST_TEST((references().copied_variables().of(w) == std::vector{first->id()}));
}

BOOST_AUTO_TEST_CASE(copies_of_a_variable_that_took_the_place_of_another_are_out_of_date_when_it_changes) {
  const Variable w(ones({2}));
  const Variable later(zeros({2}));
  const RRef<Variable> own(references().own(detail::ValueBox::of(w), "Variable", SourceLocation::current()));
  const auto copies_out_of_date = [&] { return p1->take<msg::RRefChanged>().size(); };
  BOOST_TEST(outcome(fetch(*p1, own.id(), msg::Wanted::cached)) == "ok");
  *own.local_value(*node) = later;
  BOOST_TEST(copies_out_of_date() == 1U);
  BOOST_TEST(outcome(fetch(*p1, own.id(), msg::Wanted::cached)) == "ok");
  references().changed(w, nullptr);
  BOOST_TEST(copies_out_of_date() == 0U);
  references().changed(later, nullptr);
  BOOST_TEST(copies_out_of_date() == 1U);
  *own.local_value(*node) = Variable();
  BOOST_TEST(outcome(fetch(*p1, own.id(), msg::Wanted::cached)) == "ok");
  BOOST_TEST(references().copied_variables().of(later).empty());
}

BOOST_AUTO_TEST_CASE(a_use_for_a_life_that_is_over_before_it_waits_is_cancelled) {
  ForkId fork;
  const auto handle = references().created({"m", 7, 100}, fork, "m", "i64", SourceLocation::current());
  is_over(*p1);
  std::optional<ErrorCode> told;
  references().use(
      handle->id(), {detail::UseKind::reads, "late", p1->life()},
      [&](const Result<ValueBox>& value, const std::shared_ptr<detail::ValueUse>&) { told = value.error().code; });
  BOOST_TEST((told == ErrorCode::cancelled));
}

BOOST_AUTO_TEST_CASE(a_use_of_a_value_that_is_gone_is_told_so_once) {
  auto handle = own();
  const RRefId rref = handle->id();
  handle.reset();
  std::optional<Error> told;
  int times = 0;
  bool has_use = true;
  references().use(rref, detail::UseKind::reads,
                   [&](const Result<ValueBox>& value, const std::shared_ptr<detail::ValueUse>& use) {
                     told = value.error();
                     has_use = use != nullptr;
                     ++times;
                   });
  BOOST_REQUIRE(told.has_value());
  BOOST_TEST(times == 1);
  BOOST_TEST((told->code == ErrorCode::ref_revoked));
  BOOST_TEST((told->execution == Execution::never));
  BOOST_TEST(!has_use);
}

BOOST_AUTO_TEST_CASE(who_uses_a_value_is_listed) {
  const auto handle = own();
  std::shared_ptr<detail::ValueUse> kept;
  references().use(handle->id(), {detail::UseKind::reads, "reading", {}},
                   [&](const Result<ValueBox>&, std::shared_ptr<detail::ValueUse> use) { kept = std::move(use); });
  detail::Query<ValueInUse> query(core().future_home());
  references().list_users(query.slot());
  const auto listed = query.wait(0s);
  BOOST_TEST(listed.complete);
  BOOST_REQUIRE(listed.answers.size() == 1U);
  BOOST_TEST(listed.answers[0].users[0].what == "reading");
}

BOOST_AUTO_TEST_CASE(the_end_of_the_node_fails_what_waits_and_begins_nothing) {
  ForkId fork;
  const auto handle = references().created({"m", 7, 100}, fork, "m", "i64", SourceLocation::current());
  std::optional<ErrorCode> told;
  references().use(
      handle->id(), detail::UseKind::reads,
      [&](const Result<ValueBox>& value, const std::shared_ptr<detail::ValueUse>&) { told = value.error().code; });
  BOOST_TEST(!told.has_value());
  Error why;
  why.code = ErrorCode::shutting_down;
  references().stop(why);
  BOOST_TEST((told == ErrorCode::shutting_down));
  BOOST_TEST(references().owned_values() == 0U);
  static_cast<void>(own());
  p2->say("m", "rref/p1.8", msg::RRefForked{{"p1", 1, 8}, {"p1", 1, 9}, "p1"});
  BOOST_TEST(references().owned_values() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
