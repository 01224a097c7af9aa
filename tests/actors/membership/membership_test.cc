#include "actors/membership/membership.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "tests/actors/bare_peer.h"
#include "tests/actors/membership/members.h"
#include "tests/support/meanwhile.h"
#include "tests/support/output_of.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::MemberPlace;
using detail::Membership;

/// A node that waits for members while `act` runs.
struct Waiting : AmongBarePeers {
  using Until = Membership::Until;

  Waiting() : AmongBarePeers(std::nullopt) {}

  [[nodiscard]] Membership& membership() { return core().membership(); }

  /// Returns "nothing" if they are present, else the reason; `error` then has the details.
  std::string wait_for_members(std::size_t count, std::function<void()> act, Until until = Until::they_are_up) {
    return outcome(std::move(act), [&] { return membership().wait_for_members(count, clock->now() + 1h, until); });
  }
  std::string wait_for_agreement(std::function<void()> act) {
    return outcome(std::move(act), [&] { return membership().wait_for_agreement(clock->now() + 1h); });
  }

  /// Asks the seed, which answers with `members` and the node's own place once the node waits.
  std::string join_through(BarePeer& seed, std::vector<msg::Member> members, MemberPlace place, std::size_t count,
                           Until until = Until::they_are_up) {
    membership().join({{seed.self().address}}, std::move(place));
    const auto asked = seed.take_heard<msg::MemberJoin>();
    BOOST_REQUIRE(asked.size() == 1U);
    members.push_back({"m", core().incarnation(), "memory://m", "trainer", 2, 3});
    const auto answer = [&] { seed.answer("m", asked[0], msg::MemberList{3, members}); };
    return wait_for_members(count, answer, until);
  }

  /// Returns the endpoint in the error of a wait for a member whose connection fails with an error that names
  /// `endpoint`.
  std::string endpoint_of_failure(const std::string& endpoint) {
    membership().found({{}, "trainer", 2});
    Error why;
    why.code = ErrorCode::peer_unreachable;
    why.endpoint = endpoint;
    static_cast<void>(wait_for_members(2, [&] { membership().connect_failed("memory://p2", why); }));
    BOOST_REQUIRE(error.has_value());
    return error->endpoint;
  }

  std::optional<Error> error;

 private:
  std::string outcome(std::function<void()> act, const std::function<std::optional<Error>()>& wait) {
    const Meanwhile meanwhile({[&](const detail::WaitPoint&) { act(); }});
    error = wait();
    BOOST_TEST(meanwhile.waits() == 1U);
    return error ? std::string(name_of(error->code)) + " " + error->message : "nothing";
  }
};

const msg::Member kNobody{"p2", {2, 2}, "memory://nobody", "ps", 1, 2};

Error node_ends() {
  Error why;
  why.code = ErrorCode::shutting_down;
  why.message = "the node ends";
  return why;
}

BOOST_FIXTURE_TEST_SUITE(membership_waits, Waiting)

BOOST_AUTO_TEST_CASE(a_time_that_has_passed_says_through_which_seeds_the_node_tried) {
  const Error late = make_error(ErrorCode::timeout, "1 of 3 nodes are there: m");
  const std::vector<detail::Seed> seeds{{"tcp://127.0.0.1:1"}, {"tcp://127.0.0.1:2"}};
  BOOST_TEST(detail::with_seeds(late, seeds).message ==
             "1 of 3 nodes are there: m; seed: tcp://127.0.0.1:1; seed: tcp://127.0.0.1:2");
  BOOST_TEST(detail::with_seeds(late, {}).message ==
             "1 of 3 nodes are there: m; no seed given: this is the first node");
  BOOST_TEST(detail::with_seeds(make_error(ErrorCode::peer_down, "gone"), seeds).message == "gone");
}

BOOST_AUTO_TEST_CASE(death_of_a_member_ends_the_wait_to_be_in_and_not_the_one_for_all_to_be_up) {
  membership().found({{}, "trainer", 0});
  auto first = peer("p1");
  static_cast<void>(first->ask("m", "membership", join_of(*first)));
  const auto first_dies = [&] { first->die(); };
  BOOST_TEST(wait_for_members(3, first_dies, Until::we_are_in) == "peer_down connection closed");
  auto next = peer("p1", 2);
  static_cast<void>(next->ask("m", "membership", join_of(*next)));
  BOOST_TEST(wait_for_members(3, [&] { next->die(); }).find("timeout 1 of 3 nodes are there") == 0U);
}

BOOST_AUTO_TEST_CASE(who_joins_does_not_wait_for_a_member_that_is_gone) {
  BarePeer seed(hub, "p1", 1);
  BOOST_TEST(join_through(seed, {place_of(seed, 0, 1), kNobody}, {{}, "trainer", 0}, 2, Until::we_are_in) == "nothing");
}

BOOST_AUTO_TEST_CASE(who_joins_a_world_of_a_given_size_fails_when_a_member_is_not_there) {
  BarePeer seed(hub, "p1", 1);
  const std::string text = join_through(seed, {place_of(seed, 0, 1), kNobody}, {{}, "trainer", 3}, 3);
  BOOST_TEST(text.find("peer_unreachable") == 0U, text);
  BOOST_TEST(error->operation == "join");
}

BOOST_AUTO_TEST_CASE(who_is_in_waits_on_when_one_that_joined_later_is_not_reached) {
  BarePeer seed(hub, "p1", 1);
  BarePeer other(hub, "p2", 2);
  const MemberPlace place{{}, "trainer", 3};
  const std::vector<msg::Member> members{place_of(seed, 0, 1), place_of(other, 1, 2)};
  BOOST_TEST(join_through(seed, members, place, 3, Until::we_are_in) == "nothing");
  other.die();
  const msg::Member gone{"p3", {3, 3}, "memory://nobody", "ps", 1, 4};
  const auto joins = [&] { seed.say("m", "membership", msg::MemberJoined{4, gone}); };
  const std::string outcome = wait_for_members(3, joins);
  BOOST_TEST(outcome.find("timeout 2 of 3 nodes are there") == 0U, outcome);
  BarePeer next(hub, "p4", 4);
  const auto another_joins = [&] { seed.say("m", "membership", msg::MemberJoined{5, place_of(next, 1, 5)}); };
  BOOST_TEST(wait_for_members(3, another_joins) == "nothing");
}

BOOST_AUTO_TEST_CASE(member_that_is_not_reached_is_named_by_its_address) {
  BOOST_TEST(endpoint_of_failure("") == "memory://p2");
}

BOOST_AUTO_TEST_CASE(link_names_the_endpoint_that_it_did_not_reach) {
  BOOST_TEST(endpoint_of_failure("10.0.0.2:700") == "10.0.0.2:700");
}

BOOST_AUTO_TEST_CASE(founder_that_waits_is_told_when_its_world_is_complete) {
  membership().found({{}, "trainer", 2});
  const auto first = peer("p1");
  const auto join = [&] { static_cast<void>(first->ask("m", "membership", join_of(*first, {}, 2))); };
  BOOST_TEST(wait_for_members(2, join) == "nothing");
}

BOOST_AUTO_TEST_CASE(node_whose_membership_gets_no_memory_has_failed) {
  membership().found({{}, "trainer", 0});
  detail::Query<OpenBarrier> query(core().future_home());
  clock->fail_next();
  membership().list_barriers(query.slot());
  BOOST_REQUIRE(core().failure().has_value());
  BOOST_TEST((core().failure()->code == ErrorCode::resource_exhausted));
  BOOST_TEST(core().failure()->operation == "membership");
}

BOOST_AUTO_TEST_CASE(waits_that_are_under_way_when_the_membership_ends_are_told_why) {
  membership().found({{}, "trainer", 0});
  BOOST_TEST(wait_for_members(2, [&] { membership().stop(node_ends()); }) == "shutting_down the node ends");
}

BOOST_AUTO_TEST_CASE(who_waits_in_a_meeting_is_told_why_the_membership_ends) {
  membership().found({{}, "trainer", 0});
  const auto first = peer("p1");
  msg::BarrierEntered entered;
  entered.entry = {"p1", first->self().incarnation.low, 1};
  entered.members = {"m", "p1"};
  const auto asked = first->ask("m", "membership", entered);
  BOOST_TEST(!asked->has_value());
  membership().stop(node_ends());
  BOOST_REQUIRE((asked->has_value() && !(*asked)->ok()));
  BOOST_TEST((*asked)->error().message == "the node ends");
}

BOOST_AUTO_TEST_CASE(who_asked_to_be_let_in_is_told_why_the_membership_ends) {
  membership().found({{}, "trainer", 3});
  const auto first = peer("p1");
  const auto asked = first->ask("m", "membership", join_of(*first, {}, 3));
  BOOST_TEST(!asked->has_value());
  membership().stop(node_ends());
  BOOST_REQUIRE((asked->has_value() && !(*asked)->ok()));
  BOOST_TEST((*asked)->error().message == "the node ends");
}

BOOST_AUTO_TEST_CASE(wait_for_the_common_end_is_told_why_the_membership_ends) {
  const auto first = peer("p1");
  BOOST_TEST(wait_for_agreement([&] { membership().stop(node_ends()); }) == "shutting_down the node ends");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(meetings_of_bare_peers, AmongBarePeers)

using Asked = std::shared_ptr<std::optional<Result<msg::AnyMessage>>>;

msg::BarrierEntered entry(const BarePeer& peer, std::uint64_t serial, std::vector<NodeName> members,
                          std::chrono::microseconds limit = {}) {
  msg::BarrierEntered entered;
  entered.entry = {peer.self().name, peer.self().incarnation.low, serial};
  entered.operation = "barrier";
  entered.members = std::move(members);
  entered.limit = limit;
  return entered;
}

std::string met(const Asked& asked) {
  if (!*asked) return "waits";
  return (*asked)->ok() ? "met" : std::string(name_of((*asked)->error().code));
}

BOOST_AUTO_TEST_CASE(who_has_waited_long_enough_is_told_by_the_clock) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  const Asked patient = first->ask("m", "membership", entry(*first, 1, {"m", "p1"}, 50ms));
  const Asked hasty = second->ask("m", "membership", entry(*second, 1, {"m", "p2"}, 20ms));
  const Asked endless = second->ask("m", "membership", entry(*second, 2, {"m", "p2"}));
  clock->advance(19ms);
  BOOST_TEST(met(hasty) == "waits");
  clock->advance(1ms);
  BOOST_TEST(met(hasty) == "timeout");
  BOOST_TEST(met(patient) == "waits");
  const Asked later = second->ask("m", "membership", entry(*second, 3, {"m", "p2"}, 20ms));
  clock->advance(20ms);
  BOOST_TEST(met(later) == "timeout");
  BOOST_TEST(met(patient) == "waits");
  clock->advance(10ms);
  BOOST_TEST(met(patient) == "timeout");
  clock->advance(1h);
  BOOST_TEST(met(endless) == "waits");
}

BOOST_AUTO_TEST_CASE(barriers_are_open_at_which_a_member_waits_for_an_answer) {
  const auto first = peer("p1");
  const auto open = [this] {
    detail::Query<OpenBarrier> query(core().future_home());
    core().membership().list_barriers(query.slot());
    return query.wait(1s).answers.size();
  };
  msg::BarrierEntered word = entry(*first, 1, {"m", "p1"});
  word.without_dead = true;
  first->say("m", "membership", word);
  BOOST_TEST(open() == 0U);
  const Asked waits_too = first->ask("m", "membership", entry(*first, 2, {"m", "p1"}));
  BOOST_TEST(open() == 1U);
}

BOOST_AUTO_TEST_CASE(who_waits_longer_than_one_that_came_before_is_told_as_well) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  const Asked hasty = first->ask("m", "membership", entry(*first, 1, {"m", "p1"}, 20ms));
  const Asked patient = second->ask("m", "membership", entry(*second, 1, {"m", "p2"}, 50ms));
  clock->advance(20ms);
  BOOST_TEST(met(hasty) == "timeout");
  BOOST_TEST(met(patient) == "waits");
  clock->advance(30ms);
  BOOST_TEST(met(patient) == "timeout");
}

BOOST_AUTO_TEST_CASE(members_that_come_meet_and_one_that_leaves_or_dies_does_not) {
  const auto first = peer("p1");
  const auto second = peer("p2");
  const Asked one = first->ask("m", "membership", entry(*first, 1, {"p1", "p2"}));
  BOOST_TEST(met(one) == "waits");
  BOOST_TEST(met(second->ask("m", "membership", entry(*second, 1, {"p1", "p2"}))) == "met");
  BOOST_TEST(met(one) == "met");
  const Asked left = first->ask("m", "membership", entry(*first, 2, {"p1", "p2"}));
  first->say("m", "membership", msg::BarrierLeft{entry(*first, 2, {}).entry});
  BOOST_TEST(met(left) == "cancelled");
  const Asked alone = first->ask("m", "membership", entry(*first, 3, {"p1", "p2"}));
  second->die();
  BOOST_TEST(met(alone) == "peer_down");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(news_of_deaths, AmongBarePeers)

BOOST_AUTO_TEST_CASE(a_handler_is_called_once_one_of_the_threads_that_all_waited_is_free) {
  std::string told;
  core().membership().on_down(
      [&told](const Peer& peer, const Error& why) { told += peer.name + " " + std::string(name_of(why.code)); });
  const auto first = peer("p1");
  pool->all_wait = true;
  first->die();
  BOOST_TEST(told.empty());
  pool->all_wait = false;
  for (const Job& job : std::exchange(pool->kept, {})) job.run();
  BOOST_TEST(told == "p1 peer_down");
}

BOOST_AUTO_TEST_CASE(what_a_handler_throws_is_logged) {
  int calls = 0;
  core().membership().on_down([](const Peer&, const Error&) { throw std::runtime_error("no shard is left"); });
  core().membership().on_down([&calls](const Peer&, const Error&) { ++calls; });
  const auto first = peer("p1");
  const std::string logged = output_of([&] { first->die(); });
  BOOST_TEST(calls == 1);
  BOOST_TEST(logged.find("[m] on_down p1: ") != std::string::npos, logged);
  BOOST_TEST(logged.find("no shard is left") != std::string::npos, logged);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(membership_seeds, Newcomer)

BOOST_AUTO_TEST_CASE(who_has_found_no_seed_may_go_to_others) {
  BarePeer restarted(hub, "p1", 2);
  membership().join({{restarted.self().address, Incarnation{1, 1}}, {"memory://x", Incarnation{3, 3}}},
                    {{}, "trainer", 2});
  const auto newcomer = peer("p3", 3);
  const Asked early = newcomer->ask("m", "membership", join_of(*newcomer, {}, 2));
  BOOST_TEST((missing(1)->code == ErrorCode::peer_restarted));
  BOOST_TEST(outcome(early) == "waits");  // this node may still found
  membership().join({{restarted.self().address, Incarnation{2, 2}}}, {{}, "trainer", 2});
  BOOST_TEST(outcome(early) == "protocol_violation m is no member itself yet");
  const auto asked = restarted.take_heard<msg::MemberJoin>();
  BOOST_REQUIRE(asked.size() == 1U);
  membership().join({{"memory://y"}}, {{}, "trainer", 2});  // too late
  membership().found({{}, "trainer", 2});
  restarted.answer("m", asked[0], msg::MemberList{2, {place_of(restarted, 0, 1), own_place(1, 2)}});
  BOOST_TEST(!missing(2).has_value());
}

BOOST_AUTO_TEST_CASE(who_has_found_no_seed_may_found_instead) {
  BarePeer restarted(hub, "p1", 2);
  membership().join({{restarted.self().address, Incarnation{1, 1}}}, {{}, "trainer", 2});
  BOOST_TEST((missing(1)->code == ErrorCode::peer_restarted));
  const auto newcomer = peer("p3", 3);
  const Asked early = newcomer->ask("m", "membership", join_of(*newcomer, {}, 2));
  membership().found({{}, "trainer", 2});
  BOOST_TEST(outcome(early) == "m:0 p3:1");
  membership().connect_failed("memory://p1", core().error(ErrorCode::peer_unreachable, "p1", "join", "too late"));
  BOOST_TEST(!missing(2).has_value());
  BOOST_TEST(restarted.take<msg::MemberJoin>().empty());
  membership().join({{restarted.self().address}}, {{}, "trainer", 2});  // it is a member
  BOOST_TEST(restarted.take<msg::MemberJoin>().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
