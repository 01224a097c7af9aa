#include "samples/a3c/learner.h"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

BOOST_AUTO_TEST_SUITE(learner)

namespace {

using samples::Learner;

/// Gradients of 1 for every weight.
samples::Lesson lesson(const Learner& learner, std::optional<double> episode = {}) {
  samples::Lesson lesson{.gradients = {}, .episode = episode};
  for (const troupe::Tensor& weight : learner.course().weights) lesson.gradients.push_back(ones_like(weight));
  return lesson;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_course_is_over_after_its_last_lesson) {
  Learner learner(1, 2);
  BOOST_TEST(!learner.course().is_over);
  BOOST_TEST(!learner.take(lesson(learner)).is_over);
  BOOST_TEST(learner.take(lesson(learner)).is_over);
}

BOOST_AUTO_TEST_CASE(a_lesson_that_comes_after_the_course_changes_nothing) {
  Learner learner(1, 1);
  const troupe::Tensor end = learner.take(lesson(learner)).weights.front();
  const samples::Course late = learner.take(lesson(learner, 100));
  BOOST_TEST(late.is_over);
  BOOST_TEST(same_bytes(late.weights.front(), end));
  BOOST_TEST(learner.standing().lessons == 1);
  BOOST_TEST(learner.standing().episodes == 0);
}

BOOST_AUTO_TEST_CASE(a_course_is_over_when_the_average_of_episodes_exceeds_475) {
  Learner learner(1, 1'000);
  // 500 * (1 - 0.95^n) > 475 from n = 59 on: 0.95^58 = 0.0511, 0.95^59 = 0.0485.
  for (int i = 1; i < 59; ++i) BOOST_TEST(!learner.take(lesson(learner, 500)).is_over);
  BOOST_TEST(learner.take(lesson(learner, 500)).is_over);
  BOOST_TEST(learner.standing().episodes == 59);
}

BOOST_AUTO_TEST_CASE(a_lesson_without_an_episode_does_not_count_for_the_average) {
  Learner learner(1, 100);
  static_cast<void>(learner.take(lesson(learner, 100)));
  static_cast<void>(learner.take(lesson(learner)));
  BOOST_TEST(learner.standing().average == 5.0, boost::test_tools::tolerance(1e-12));  // 0.05 * 100
  BOOST_TEST(learner.standing().lessons == 2);
}

BOOST_AUTO_TEST_CASE(weights_move_against_the_gradient) {
  Learner learner(1, 100);
  const troupe::Tensor before = learner.course().weights.front();
  const troupe::Tensor after = learner.take(lesson(learner)).weights.front();
  BOOST_TEST(max(after - before).item() < 0);
}

BOOST_AUTO_TEST_CASE(between_terms_no_lesson_counts) {
  Learner learner(1, 100);
  learner.begin_term(2);
  BOOST_TEST(!learner.take(lesson(learner)).is_over);
  BOOST_TEST(learner.take(lesson(learner)).is_over);
  BOOST_TEST(!learner.is_over());
  static_cast<void>(learner.take(lesson(learner, 100)));
  BOOST_TEST(learner.standing().lessons == 2);
  learner.begin_term(1);
  BOOST_TEST(!learner.enter(0).is_over);
}

BOOST_AUTO_TEST_CASE(a_player_enters_where_its_last_lesson_that_was_taken_ended) {
  Learner learner(1, 1);
  samples::Lesson taken = lesson(learner);
  taken.player = 5;
  taken.position = {troupe::scalar(7.0)};
  static_cast<void>(learner.take(taken));
  taken.position = {troupe::scalar(8.0)};
  static_cast<void>(learner.take(taken));  // after the course
  BOOST_TEST_REQUIRE(learner.enter(5).position.size() == 1U);
  BOOST_TEST(learner.enter(5).position.front().item() == 7.0);
  BOOST_TEST(learner.enter(0).position.empty());
}

BOOST_AUTO_TEST_CASE(a_learner_with_a_loaded_state_goes_on_with_the_same_bits) {
  Learner learner(1, 100);
  samples::Lesson first = lesson(learner, 100);
  first.player = 12;
  first.position = {troupe::scalar(7.0), troupe::scalar(8.0)};
  static_cast<void>(learner.take(first));

  Learner other(2, 100);
  other.load_state_dict(learner.state_dict());
  BOOST_TEST(other.standing().average == 5.0, boost::test_tools::tolerance(1e-12));  // 0.05 * 100
  BOOST_TEST(other.standing().episodes == 1);
  BOOST_TEST_REQUIRE(other.enter(12).position.size() == 2U);
  BOOST_TEST(other.enter(12).position.back().item() == 8.0);
  const std::vector<troupe::Tensor> expected = learner.take(lesson(learner)).weights;
  const std::vector<troupe::Tensor> weights = other.take(lesson(other)).weights;
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(same_bytes(weights.at(i), expected[i]));
  BOOST_CHECK_THROW(other.load_state_dict({}), troupe::ValueError);
  troupe::NamedTensors of_nobody = learner.state_dict();
  of_nobody.emplace_back("players.x.0", troupe::scalar(7.0));
  BOOST_CHECK_EXCEPTION(other.load_state_dict(of_nobody), troupe::ValueError, [](const troupe::ValueError& error) {
    return std::string(error.what()) == "[load_state_dict] players.x.0 is of no player";
  });
}

BOOST_AUTO_TEST_SUITE_END()
