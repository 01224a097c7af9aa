#include "actors/core/lives.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/counting_new.h"

namespace troupe::detail {
namespace {

Peer life(std::uint64_t number) { return {"ps0", {number, 100 + number}, "memory://ps0"}; }
NodeLife node_life_of(const Peer& peer) { return {peer.name, peer.incarnation}; }

Error closed(const Peer& peer) {
  Error error;
  error.code = ErrorCode::peer_down;
  error.peer = peer.name;
  error.incarnation = peer.incarnation;
  return error;
}

/// The router's use of the table: each life comes up after the previous one has ended.
struct LivesInTurn {
  void pass(std::uint64_t number) {
    BOOST_REQUIRE(lives.begin(life(number)));
    lives.end(node_life_of(life(number)), closed(life(number)));
  }
  Lives lives;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(lives_of_nodes, LivesInTurn)

BOOST_AUTO_TEST_CASE(a_life_is_up_from_its_begin_to_its_end) {
  BOOST_TEST(!lives.up("ps0").has_value());
  BOOST_TEST(!lives.is_over(node_life_of(life(1))));  // the life may still begin
  BOOST_TEST(lives.begin(life(1)));
  BOOST_REQUIRE(lives.up("ps0").has_value());
  BOOST_TEST((lives.up("ps0")->incarnation == life(1).incarnation));
  lives.end(node_life_of(life(1)), closed(life(1)));
  BOOST_TEST(lives.is_over(node_life_of(life(1))));
  BOOST_TEST(lives.up().empty());
  BOOST_TEST((lives.why_over("ps0")->code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(a_life_that_is_over_does_not_come_up_again) {
  pass(1);
  BOOST_TEST(!lives.begin(life(1)));
}

BOOST_AUTO_TEST_CASE(the_life_before_the_last_does_not_come_up_again) {
  pass(1);
  pass(2);
  pass(3);
  BOOST_TEST(!lives.begin(life(1)));
  BOOST_TEST(!lives.begin(life(2)));
  BOOST_TEST(lives.is_over(node_life_of(life(1))));
  BOOST_TEST((lives.why_over(node_life_of(life(1)))->code == ErrorCode::peer_restarted));
  BOOST_TEST(lives.why_over(node_life_of(life(1)))->peer == "ps0");
  BOOST_TEST((lives.why_over(node_life_of(life(1)))->incarnation == life(1).incarnation));
  BOOST_TEST(lives.why_over(node_life_of(life(1)))->message == "a later life has taken its name");
  BOOST_TEST((lives.why_over(node_life_of(life(3)))->code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(a_name_that_has_had_one_life_takes_no_memory_for_former_ones) {
  constexpr std::size_t kNames = 100;
  const testing::PeakMemory memory;
  for (std::size_t i = 0; i < kNames; ++i) BOOST_REQUIRE(lives.begin({std::to_string(i), {i, i}, {}}));
  const std::size_t bytes = memory.live() / kNames;
  BOOST_TEST(bytes < 700U);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_former_life_does_not_touch_the_present_one) {
  pass(1);
  BOOST_TEST(lives.begin(life(2)));
  lives.end(node_life_of(life(1)), closed(life(1)));
  BOOST_TEST(lives.up("ps0").has_value());
  BOOST_TEST(!lives.is_over(node_life_of(life(2))));
}

BOOST_AUTO_TEST_CASE(the_first_reason_of_an_end_stays) {
  pass(1);
  Error later = closed(life(1));
  later.code = ErrorCode::shutting_down;
  lives.end(node_life_of(life(1)), later);
  BOOST_TEST((lives.why_over(node_life_of(life(1)))->code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_CASE(what_a_life_that_is_over_gave_an_id_to_is_known_by_the_id) {
  pass(1);
  BOOST_TEST(lives.begin(life(2)));
  BOOST_TEST(lives.is_over(RRefId{"ps0", 101, 7}));   // 100 + 1
  BOOST_TEST(!lives.is_over(RRefId{"ps0", 102, 7}));  // 100 + 2: up
  BOOST_TEST(!lives.is_over(RRefId{"ps0", 103, 7}));  // the life may still begin
  BOOST_TEST(!lives.is_over(RRefId{"ps1", 101, 7}));
}

BOOST_AUTO_TEST_CASE(a_life_let_in_before_the_last_is_over_however_many_came_between) {
  BOOST_TEST(lives.begin(life(1)));
  BOOST_TEST(lives.let_in(node_life_of(life(1)), 5));
  lives.end(node_life_of(life(1)), closed(life(1)));
  for (std::uint64_t number = 2; number < 2 + Lives::kFormerMax; ++number) pass(number);
  BOOST_TEST(lives.is_over(node_life_of(life(1))));  // the last that is remembered
  BOOST_TEST(lives.begin(life(1000)));               // the incarnation of life 1 is forgotten
  BOOST_TEST(lives.let_in(node_life_of(life(1000)), 40));
  BOOST_TEST(!lives.is_over(node_life_of(life(1))));
  BOOST_TEST(!lives.let_in(node_life_of(life(1)), 5));
  lives.end(node_life_of(life(1000)), closed(life(1000)));
  BOOST_TEST(lives.begin(life(1)));  // unknowable until its admission is reported
  BOOST_TEST(!lives.let_in(node_life_of(life(1)), 5));
}

BOOST_AUTO_TEST_CASE(a_life_that_nobody_said_was_let_in_is_before_every_epoch) {
  pass(1);
  pass(2);
  BOOST_TEST(lives.begin(life(3)));
  BOOST_TEST(lives.let_in(node_life_of(life(3)), 1));
}

BOOST_AUTO_TEST_CASE(of_two_lives_with_one_epoch_the_one_that_came_up_last_is_in) {
  BOOST_TEST(lives.begin(life(1)));
  BOOST_TEST(lives.let_in(node_life_of(life(1)), 5));
  BOOST_TEST(!lives.let_in(node_life_of(life(2)), 4));
  BOOST_TEST(lives.let_in(node_life_of(life(2)), 5));
  lives.end(node_life_of(life(1)), closed(life(1)));
  BOOST_TEST(lives.begin(life(2)));
  BOOST_TEST(!lives.let_in(node_life_of(life(2)), 4));  // nor after it has come up
  BOOST_TEST(lives.let_in(node_life_of(life(2)), 5));
  BOOST_TEST(!lives.let_in(node_life_of(life(1)), 5));
  BOOST_TEST(!lives.let_in(node_life_of(life(1)), 6));
}

BOOST_AUTO_TEST_CASE(what_a_life_says_of_itself_is_compared_and_not_kept) {
  BOOST_TEST(lives.may_be_in(node_life_of(life(1)), 9));  // unknown
  BOOST_TEST(lives.begin(life(1)));
  BOOST_TEST(lives.may_be_in(node_life_of(life(1)), 9));
  BOOST_TEST(lives.let_in(node_life_of(life(1)), 5));
  BOOST_TEST(!lives.may_be_in(node_life_of(life(2)), 4));
  lives.end(node_life_of(life(1)), closed(life(1)));
  BOOST_TEST(!lives.may_be_in(node_life_of(life(2)), 4));
  BOOST_TEST(lives.begin(life(2)));
  BOOST_TEST(!lives.may_be_in(node_life_of(life(2)), 4));
  BOOST_TEST(!lives.may_be_in(node_life_of(life(1)), 9));
  BOOST_TEST(lives.may_be_in(node_life_of(life(2)), 9));
  BOOST_TEST(lives.may_be_in(node_life_of(life(2)), 5));  // what it said before does not count
  BOOST_TEST(lives.let_in(node_life_of(life(2)), 5));
}

BOOST_AUTO_TEST_CASE(a_life_of_a_world_without_epochs_is_ordered_by_when_it_came_up) {
  BOOST_TEST(lives.begin(life(1)));
  BOOST_TEST(lives.let_in(node_life_of(life(1)), 0));
  lives.end(node_life_of(life(1)), closed(life(1)));
  BOOST_TEST(lives.begin(life(2)));
  BOOST_TEST(lives.let_in(node_life_of(life(2)), 0));
  BOOST_TEST(!lives.let_in(node_life_of(life(1)), 0));
}

BOOST_AUTO_TEST_CASE(names_that_come_and_go_take_a_bounded_memory_and_the_longest_gone_is_forgotten) {
  const auto worker = [](std::uint64_t number) { return Peer{std::to_string(number), {number, number}, {}}; };
  const auto pass_worker = [&](std::uint64_t number) {
    BOOST_REQUIRE(lives.begin(worker(number)));
    lives.end(node_life_of(worker(number)), closed(worker(number)));
  };
  BOOST_TEST(lives.begin(life(1)));
  for (std::uint64_t number = 0; number < Lives::kNamesOverMax; ++number) pass_worker(number);
  BOOST_TEST(lives.begin({"0", {1, 1}, {}}));  // the next life of the first of them
  lives.end({"0", {1, 1}}, closed(worker(0)));
  BOOST_TEST(lives.is_over(node_life_of(worker(1))));
  const testing::PeakMemory memory;
  for (std::uint64_t number = 10'000; number < 11'000; ++number) pass_worker(number);
  BOOST_TEST(memory.live() < 64U * 1000U);
  BOOST_TEST(!lives.is_over(node_life_of(worker(1000))));
  BOOST_TEST(lives.is_over(node_life_of(worker(1001))));
  BOOST_TEST(lives.is_over(node_life_of(worker(0))));
  BOOST_TEST(lives.is_up(node_life_of(life(1))));  // since before all of them
}

BOOST_AUTO_TEST_CASE(lives_that_are_up_are_listed_by_name_whenever_they_came_up) {
  BOOST_TEST(lives.begin({"c", {3, 3}, {}}));
  pass(1);
  BOOST_TEST(lives.begin({"a", {1, 1}, {}}));
  BOOST_TEST(lives.begin(life(2)));
  std::string names;
  for (const Peer& peer : lives.up()) names += peer.name + " ";
  BOOST_TEST(names == "a c ps0 ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
