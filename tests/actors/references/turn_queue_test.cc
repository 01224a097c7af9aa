#include "actors/references/turn_queue.h"

#include <boost/test/unit_test.hpp>
#include <ostream>
#include <random>
#include <stdexcept>
#include <vector>

namespace troupe {

static std::ostream& operator<<(std::ostream& out, TurnId use) { return out << use.value; }

BOOST_AUTO_TEST_SUITE(turn_queue)

namespace {

constexpr TurnId kFirst{1};
constexpr TurnId kSecond{2};
constexpr TurnId kThird{3};
constexpr TurnId kFourth{4};

void expect(std::optional<TurnId> got, std::optional<TurnId> wanted) {
  BOOST_TEST(got.has_value() == wanted.has_value());
  if (got && wanted) BOOST_TEST(*got == *wanted);
}

void expect_misuse(const std::logic_error& error, const std::string& text) { BOOST_TEST(error.what() == text); }

}  // namespace

BOOST_AUTO_TEST_CASE(uses_take_turns_in_the_order_they_arrive) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(!queue.request(kSecond));
  BOOST_TEST(!queue.request(kThird));
  expect(queue.release(kFirst), kSecond);
  BOOST_TEST(queue.has_turn(kSecond));
  expect(queue.release(kSecond), kThird);
  expect(queue.release(kThird), std::nullopt);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_use_that_waits_lets_the_next_one_run) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(!queue.request(kSecond));
  expect(queue.suspend(kFirst), kSecond);
  BOOST_TEST(queue.suspended_count() == 1U);
  BOOST_TEST(!queue.resume(kFirst));
  BOOST_TEST(queue.waiting_count() == 1U);
  expect(queue.release(kSecond), kFirst);
  BOOST_TEST(queue.suspended_count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_report_has_the_turn_first_then_the_queue_then_those_who_wait_elsewhere) {
  using Uses = std::vector<std::pair<TurnId, UseState>>;
  TurnQueue queue;
  BOOST_TEST(queue.uses().empty());
  BOOST_TEST(queue.request(kFourth));
  BOOST_TEST(!queue.request(kThird));
  BOOST_TEST(!queue.request(kFirst));
  BOOST_TEST((queue.uses() ==
              Uses{{kFourth, UseState::has_turn}, {kThird, UseState::arriving}, {kFirst, UseState::arriving}}));
  expect(queue.suspend(kFourth), kThird);
  BOOST_TEST((queue.uses() ==
              Uses{{kThird, UseState::has_turn}, {kFirst, UseState::arriving}, {kFourth, UseState::waits_elsewhere}}));
  BOOST_TEST(!queue.resume(kFourth));
  BOOST_TEST((queue.uses() ==
              Uses{{kThird, UseState::has_turn}, {kFourth, UseState::returning}, {kFirst, UseState::arriving}}));
  expect(queue.release(kThird), kFourth);
  expect(queue.release(kFirst), std::nullopt);
  BOOST_TEST((queue.uses() == Uses{{kFourth, UseState::has_turn}}));
}

BOOST_AUTO_TEST_CASE(a_use_whose_wait_is_over_goes_on_before_uses_that_have_not_begun) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  expect(queue.suspend(kFirst), std::nullopt);
  BOOST_TEST(queue.request(kSecond));
  BOOST_TEST(!queue.request(kThird));
  BOOST_TEST(!queue.resume(kFirst));
  expect(queue.release(kSecond), kFirst);
  expect(queue.release(kFirst), kThird);
}

BOOST_AUTO_TEST_CASE(uses_whose_waits_are_over_go_on_in_that_order) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  expect(queue.suspend(kFirst), std::nullopt);
  BOOST_TEST(queue.request(kSecond));
  expect(queue.suspend(kSecond), std::nullopt);
  BOOST_TEST(queue.request(kThird));
  BOOST_TEST(!queue.resume(kSecond));
  BOOST_TEST(!queue.resume(kFirst));
  expect(queue.release(kThird), kSecond);
  expect(queue.release(kSecond), kFirst);
}

BOOST_AUTO_TEST_CASE(uses_that_ask_for_their_turns_anew_go_on_in_the_order_of_all) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(!queue.request(kSecond));
  expect(queue.suspend(kFirst), kSecond);
  BOOST_TEST(!queue.resume(kFirst, TurnOrder::anew));
  BOOST_TEST(!queue.request(kThird));
  expect(queue.suspend(kSecond), kFirst);
  BOOST_TEST(!queue.resume(kSecond, TurnOrder::anew));
  BOOST_TEST(!queue.request(kFourth));
  expect(queue.suspend(kFirst), kThird);
  BOOST_TEST(!queue.resume(kFirst));  // this wait was within its turn
  expect(queue.release(kThird), kFirst);
  expect(queue.suspend(kFirst), kSecond);
  BOOST_TEST(!queue.resume(kFirst, TurnOrder::anew));
  expect(queue.release(kFirst), std::nullopt);  // it is given up
  expect(queue.release(kSecond), kFourth);
  expect(queue.release(kFourth), std::nullopt);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_call_back_into_an_object_that_waits_for_it_does_not_deadlock) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));  // A's function on the object calls B and waits
  expect(queue.suspend(kFirst), std::nullopt);
  BOOST_TEST(queue.request(kSecond));  // B calls the same object
  expect(queue.release(kSecond), std::nullopt);
  BOOST_TEST(queue.resume(kFirst));
  expect(queue.release(kFirst), std::nullopt);
}

BOOST_AUTO_TEST_CASE(a_use_that_is_given_up_leaves_from_wherever_it_is) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(!queue.request(kSecond));
  BOOST_TEST(!queue.request(kThird));
  expect(queue.release(kSecond), std::nullopt);  // had not begun
  expect(queue.suspend(kFirst), kThird);
  expect(queue.release(kFirst), std::nullopt);  // suspended
  BOOST_TEST(!queue.request(kFourth));
  expect(queue.suspend(kThird), kFourth);
  BOOST_TEST(!queue.resume(kThird));
  expect(queue.release(kThird), std::nullopt);  // it awaits its turn again
  expect(queue.release(kFourth), std::nullopt);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_use_that_no_longer_wants_its_turn_again_leaves_the_queue_and_may_ask_again) {
  for (const TurnOrder order : {TurnOrder::returning, TurnOrder::anew}) {
    TurnQueue queue;
    BOOST_TEST(queue.request(kFirst));
    BOOST_TEST(!queue.request(kSecond));
    expect(queue.suspend(kFirst), kSecond);
    BOOST_TEST(!queue.resume(kFirst, order));
    queue.withdraw(kFirst);
    BOOST_TEST(queue.suspended_count() == 1U);
    expect(queue.suspend(kSecond), std::nullopt);
    BOOST_TEST(queue.resume(kFirst, order));
    expect(queue.release(kFirst), std::nullopt);
    expect(queue.release(kSecond), std::nullopt);
    BOOST_TEST(queue.empty());
  }
}

BOOST_AUTO_TEST_CASE(concurrent_sharing_never_waits) {
  TurnQueue queue(Sharing::concurrent);
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(queue.request(kSecond));
  expect(queue.suspend(kFirst), std::nullopt);
  BOOST_TEST(queue.resume(kFirst));
  expect(queue.release(kSecond), std::nullopt);
  BOOST_TEST(queue.has_turn(kFirst));
  expect(queue.release(kFirst), std::nullopt);
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(events_that_a_use_cannot_have_are_bugs_and_say_so) {
  TurnQueue queue;
  BOOST_TEST(queue.request(kFirst));
  BOOST_TEST(!queue.request(kSecond));
  const auto text_of = [](const char* text) {
    return [text](const std::logic_error& error) {
      expect_misuse(error, text);
      return true;
    };
  };
  BOOST_CHECK_EXCEPTION((void)queue.request(kSecond), std::logic_error, text_of("[turn] requested twice: use 2"));
  BOOST_CHECK_EXCEPTION((void)queue.suspend(kSecond), std::logic_error,
                        text_of("[turn] suspended without its turn: use 2"));
  BOOST_CHECK_EXCEPTION((void)queue.resume(kFirst), std::logic_error,
                        text_of("[turn] resumed but not suspended: use 1"));
  BOOST_CHECK_EXCEPTION(queue.withdraw(kFirst), std::logic_error, text_of("[turn] withdrawn but not waiting: use 1"));
  BOOST_CHECK_EXCEPTION((void)queue.release(kThird), std::logic_error, text_of("[turn] released but unknown: use 3"));
}

BOOST_AUTO_TEST_CASE(at_most_one_use_has_the_turn_and_none_is_left_behind) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::mt19937 random(seed);
      TurnQueue queue;
      std::optional<TurnId> running;
      std::vector<TurnId> suspended;
      std::uint64_t finished = 0;
      std::uint64_t arrived = 0;
      const auto grant = [&](std::optional<TurnId> use) {
        if (use) BOOST_TEST_REQUIRE(!running.has_value());
        if (use) running = use;
      };
      for (int step = 0; step < 2000 || !queue.empty(); ++step) {
        const auto choice = random() % 4;
        if (choice == 0 && step < 2000) {
          const TurnId use{++arrived};
          if (queue.request(use)) grant(use);
        } else if (choice == 1 && running) {
          const TurnId use = *std::exchange(running, std::nullopt);
          suspended.push_back(use);
          grant(queue.suspend(use));
        } else if (choice == 2 && !suspended.empty()) {
          const std::size_t at = random() % suspended.size();
          const TurnId use = suspended[at];
          suspended.erase(suspended.begin() + static_cast<std::ptrdiff_t>(at));
          if (queue.resume(use)) grant(use);
        } else if (choice == 3 && running) {
          ++finished;
          grant(queue.release(*std::exchange(running, std::nullopt)));
        }
        BOOST_TEST_REQUIRE((running.has_value() || queue.waiting_count() == 0U));  // no use waits for a free turn
        BOOST_TEST_REQUIRE(step < 1000000);
      }
      BOOST_TEST(finished == arrived);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
