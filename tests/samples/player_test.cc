#include "samples/a3c/player.h"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/error.h"
#include "tensor/ops.h"

BOOST_AUTO_TEST_SUITE(player)

namespace {

using samples::ActorCritic;
using samples::Lesson;
using samples::Player;

}  // namespace

BOOST_AUTO_TEST_CASE(an_episode_is_told_of_in_the_lesson_in_which_it_ends) {
  const std::vector<troupe::Tensor> weights = ActorCritic(1).weights();
  Player player(1, 0);
  for (int episode = 0; episode < 5; ++episode) {
    std::int64_t lessons = 1;
    Lesson lesson = player.play(weights);
    for (; !lesson.episode; ++lessons) lesson = player.play(weights);
    // The reward of each push is 1, and a lesson has 20, or fewer if the pole falls.
    BOOST_TEST(*lesson.episode <= static_cast<double>(lessons * Player::kPushesMax));
    BOOST_TEST(*lesson.episode > static_cast<double>((lessons - 1) * Player::kPushesMax));
  }
}

BOOST_AUTO_TEST_CASE(a_lesson_has_a_gradient_for_each_weight_and_depends_on_the_weights) {
  const std::vector<troupe::Tensor> weights = ActorCritic(1).weights();
  const Lesson lesson = Player(1, 0).play(weights);
  BOOST_REQUIRE(lesson.gradients.size() == weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    BOOST_TEST(lesson.gradients[i].shape() == weights[i].shape());
    BOOST_TEST(max(abs(lesson.gradients[i])).item() > 0);
  }
  const Lesson other = Player(1, 0).play(ActorCritic(2).weights());
  BOOST_TEST(!same_bytes(lesson.gradients.front(), other.gradients.front()));
}

BOOST_AUTO_TEST_CASE(a_player_that_goes_on_from_a_position_plays_the_same) {
  const std::vector<troupe::Tensor> weights = ActorCritic(1).weights();
  Player player(1, 3);
  std::vector<troupe::Tensor> position;  // of the beginning
  for (int i = 0; i < 30; ++i) {         // over the ends of episodes
    Player other(1, 3);
    other.go_on_from(position);
    const Lesson lesson = player.play(weights);
    const Lesson same = other.play(weights);
    BOOST_TEST(same.player == 3U);
    BOOST_TEST((same.episode == lesson.episode));
    for (std::size_t g = 0; g < weights.size(); ++g) BOOST_TEST(same_bytes(same.gradients[g], lesson.gradients[g]));
    position = lesson.position;
  }
  BOOST_CHECK_THROW(player.go_on_from({weights.front()}), troupe::ValueError);
}

BOOST_AUTO_TEST_SUITE_END()
