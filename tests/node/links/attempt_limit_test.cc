#include "node/links/attempt_limit.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Keys = std::vector<AttemptLimit::Key>;
using Rank = AttemptLimit::Rank;

constexpr std::size_t kPlaces = AttemptLimit::kPlaces;

struct Limit {
  /// Begins attempts 1 to kPlaces.
  void fill() {
    for (AttemptLimit::Key key = 1; key <= kPlaces; ++key) BOOST_TEST(limit.ask(key, Rank::first, now));
  }
  void check_admits(const Keys& keys) { BOOST_TEST(limit.admit(now) == keys, boost::test_tools::per_element()); }

  AttemptLimit limit{2s};
  TimePoint now{1h};
};

BOOST_AUTO_TEST_SUITE(attempt_limit)

BOOST_AUTO_TEST_CASE(attempts_above_the_limit_wait_in_the_order_in_which_they_asked) {
  Limit t;
  t.fill();
  for (const AttemptLimit::Key key : {33, 31, 32}) BOOST_TEST(!t.limit.ask(key, Rank::first, t.now));
  BOOST_TEST(t.limit.waiting() == 3U);
  t.check_admits({});
  t.limit.answered(2, t.now);
  t.check_admits({33});
  t.check_admits({});
  t.limit.over(33);
  t.limit.over(5);
  BOOST_TEST((t.limit.next_due() <= t.now));
  BOOST_TEST(!t.limit.ask(34, Rank::first, t.now), "passes those that wait");
  t.check_admits({31, 32});
  t.limit.over(34);
  BOOST_TEST(t.limit.waiting() == 0U);
  BOOST_TEST(!t.limit.next_due());
}

BOOST_AUTO_TEST_CASE(restored_connections_come_first_and_repeated_attempts_last) {
  Limit t;
  t.fill();
  BOOST_TEST(!t.limit.ask(41, Rank::repeats, t.now));
  BOOST_TEST(!t.limit.ask(42, Rank::first, t.now));
  BOOST_TEST(!t.limit.ask(43, Rank::restores, t.now));
  BOOST_TEST(!t.limit.ask(44, Rank::first, t.now));
  t.limit.over(1);
  BOOST_TEST(t.limit.ask(45, Rank::restores, t.now) == false);  // as urgent as 43, and later
  t.limit.over(45);
  for (AttemptLimit::Key key = 2; key <= 4; ++key) t.limit.over(key);
  t.check_admits({43, 42, 44, 41});
}

BOOST_AUTO_TEST_CASE(attempt_of_an_earlier_rank_does_not_wait_for_those_of_a_later_one) {
  Limit t;
  t.fill();
  BOOST_TEST(!t.limit.ask(41, Rank::repeats, t.now));
  t.limit.over(1);
  BOOST_TEST(t.limit.ask(42, Rank::first, t.now));
  t.check_admits({});
}

BOOST_AUTO_TEST_CASE(attempt_that_is_hurried_waits_as_one_of_the_earlier_rank) {
  Limit t;
  t.fill();
  for (const AttemptLimit::Key key : {41, 42}) BOOST_TEST(!t.limit.ask(key, Rank::first, t.now));
  BOOST_TEST(!t.limit.ask(43, Rank::restores, t.now));
  t.limit.hurry(42, Rank::answers);
  t.limit.hurry(43, Rank::answers);  // is in more of a hurry already
  t.limit.hurry(1, Rank::answers);   // does not wait
  t.limit.hurry(44, Rank::answers);  // is unknown
  BOOST_TEST(!t.limit.ask(45, Rank::answers, t.now));
  BOOST_TEST(t.limit.waiting() == 4U);
  for (AttemptLimit::Key key = 2; key <= 5; ++key) t.limit.over(key);
  t.check_admits({43, 42, 45, 41});
}

BOOST_AUTO_TEST_CASE(silent_attempts_lose_their_places_after_the_patience) {
  Limit t;
  t.fill();
  BOOST_TEST(!t.limit.ask(41, Rank::first, t.now));
  BOOST_REQUIRE(t.limit.next_due().has_value());
  BOOST_TEST((*t.limit.next_due() == t.now + t.limit.patience()));
  t.now += t.limit.patience() - 1ns;
  t.check_admits({});
  t.now += 1ns;
  t.check_admits({41});
  for (AttemptLimit::Key key = 51; key < 51 + kPlaces; ++key) {
    BOOST_TEST(t.limit.ask(key, Rank::first, t.now) == (key < 50 + kPlaces), key);
  }
  t.limit.over(3);  // has no place any more: none becomes free
  t.check_admits({});
}

BOOST_AUTO_TEST_CASE(patience_follows_the_time_that_answers_take_within_its_bounds) {
  Limit t;
  const Duration at_first = t.limit.patience();
  const auto answer_after = [&t](Duration time, int count) {
    for (int i = 0; i < count; ++i) {
      BOOST_REQUIRE(t.limit.ask(1, Rank::first, t.now));
      t.now += time;
      t.limit.answered(1, t.now);
    }
  };
  answer_after(1ms, 1);
  BOOST_TEST((t.limit.patience() == 100ms));
  answer_after(200ms, 1);
  BOOST_TEST((t.limit.patience() > 100ms));
  BOOST_TEST((t.limit.patience() < at_first));
  answer_after(200ms, 50);
  BOOST_TEST((t.limit.patience() > 750ms));
  BOOST_TEST((t.limit.patience() < 800ms));
  answer_after(1s, 50);
  BOOST_TEST((t.limit.patience() == 2s));
}

BOOST_AUTO_TEST_CASE(answer_to_an_attempt_without_a_place_counts_for_the_patience) {
  Limit t;
  t.fill();
  for (AttemptLimit::Key key = 1; key <= kPlaces; ++key) t.limit.answered(key, t.now + 1ms);
  BOOST_TEST((t.limit.patience() == 100ms));
  t.fill();
  t.now += 150ms;
  BOOST_TEST(t.limit.ask(41, Rank::first, t.now));
  t.now += 150ms;
  for (AttemptLimit::Key key = 1; key <= kPlaces; ++key) t.limit.answered(key, t.now);
  BOOST_TEST((t.limit.patience() > 500ms));
  t.limit.answered(1, t.now);  // over
  t.limit.over(41);
  t.fill();
  BOOST_TEST(!t.limit.ask(42, Rank::first, t.now));
}

BOOST_AUTO_TEST_CASE(attempt_that_asks_again_leaves_its_place_and_its_turn) {
  Limit t;
  t.fill();
  BOOST_TEST(!t.limit.ask(41, Rank::first, t.now));
  BOOST_TEST(!t.limit.ask(41, Rank::repeats, t.now));
  BOOST_TEST(t.limit.waiting() == 1U);
  BOOST_TEST(!t.limit.ask(42, Rank::first, t.now));
  BOOST_TEST(!t.limit.ask(1, Rank::repeats, t.now));
  t.check_admits({42});
  t.limit.over(2);
  t.limit.over(3);
  t.check_admits({41, 1});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
