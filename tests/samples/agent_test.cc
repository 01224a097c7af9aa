#include "samples/reinforcement/agent.h"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <vector>

#include "autograd/engine.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

using namespace samples;

BOOST_AUTO_TEST_SUITE(agent)

namespace {

using Rewards = std::vector<double>;

/// Returns the loss after two observers got these rewards, each in the same states every time.
double loss_for(const Rewards& first, const Rewards& second) {
  Agent agent(1, 2);
  const auto play = [&](std::uint64_t observer, const Rewards& rewards) {
    for (const double reward : rewards) {
      static_cast<void>(agent.select_action(observer, {.angle = 0.1}));
      agent.report_reward(observer, reward);
    }
  };
  play(0, first);
  play(1, second);
  return agent.take_loss().value().item();
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_one_observer_got_counts_for_nothing_that_another_one_did) {
  const Rewards some{1, 0, 4};
  const Rewards others{5, 7, 0, 1};
  // Equal rewards of 0 have returns of 0, so they add nothing to the loss.
  const double alone = loss_for(some, {0, 0, 0, 0});
  const double other_alone = loss_for({0, 0, 0}, others);
  BOOST_TEST(alone != 0);
  BOOST_TEST(other_alone != 0);
  BOOST_TEST(loss_for(some, others) == alone + other_alone, boost::test_tools::tolerance(1e-5));  // f32
}

BOOST_AUTO_TEST_CASE(an_observers_pushes_do_not_depend_on_when_the_others_ask) {
  const auto pushes = [](int others_ask_before) {
    Agent agent(1, 2);
    for (int i = 0; i < others_ask_before; ++i) static_cast<void>(agent.select_action(0, {}));
    std::vector<Push> found;
    for (int i = 0; i < 40; ++i) found.push_back(agent.select_action(1, {}));
    return found;
  };
  BOOST_TEST((pushes(0) == pushes(3)));
}

BOOST_AUTO_TEST_CASE(observers_draw_on_their_own) {
  Agent agent(1, 2);
  int differ = 0;
  for (int i = 0; i < 40; ++i) differ += agent.select_action(0, {}) != agent.select_action(1, {}) ? 1 : 0;
  BOOST_TEST(differ > 0);
}

BOOST_AUTO_TEST_CASE(the_reward_is_that_of_the_worst_observer) {
  Agent agent(1, 2);
  for (const double reward : {1.0, 2.0, 4.0}) agent.report_reward(0, reward);
  for (const double reward : {2.0, 3.0}) agent.report_reward(1, reward);
  BOOST_TEST(agent.reward() == 5);
}

BOOST_AUTO_TEST_CASE(episodes_are_forgotten_with_their_loss) {
  Agent agent(1, 1);
  const auto episode = [&] {
    for (const double reward : {3.0, 1.0}) {
      static_cast<void>(agent.select_action(0, {}));
      agent.report_reward(0, reward);
    }
    return agent.reward();
  };
  BOOST_TEST(episode() == 4);
  const troupe::Variable loss = agent.take_loss();
  BOOST_TEST(troupe::backward(loss).size() == 4U);  // weight and bias of both layers
  BOOST_TEST(episode() == 4);
}

BOOST_AUTO_TEST_CASE(an_unknown_observer_is_refused) {
  Agent agent(1, 2);
  BOOST_CHECK_THROW(static_cast<void>(agent.select_action(2, {})), std::out_of_range);
  BOOST_CHECK_THROW(agent.report_reward(2, 1), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(an_agent_with_a_loaded_state_draws_the_same) {
  Agent agent(1, 2);
  static_cast<void>(agent.select_action(1, {}));
  Agent other(1, 2);
  other.load_state_dict(agent.state_dict());
  for (int i = 0; i < 20; ++i) BOOST_TEST((agent.select_action(1, {}) == other.select_action(1, {})));
  BOOST_TEST(same_bytes(agent.state_dict()[0].second, other.state_dict()[0].second));
  BOOST_TEST(same_bytes(agent.state_dict()[1].second, other.state_dict()[1].second));
  BOOST_CHECK_THROW(Agent(1, 3).load_state_dict(agent.state_dict()), troupe::ValueError);
}

BOOST_AUTO_TEST_SUITE_END()
