#include "samples/reinforcement/cart_pole.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <stdexcept>

using namespace samples;

BOOST_AUTO_TEST_SUITE(cart_pole)

namespace {

// a few roundings of f64
const auto roundings = boost::test_tools::tolerance(1e-14);

}  // namespace

BOOST_AUTO_TEST_CASE(a_push_at_rest_moves_the_cart_with_it_and_tips_the_pole_against_it) {
  // Upright and at rest the equations are 10 / 1.1 = 100/11, then
  // angular acceleration  -(100/11) / (0.5 * (4/3 - 0.1/1.1)) = -600/41
  // acceleration          100/11 + 0.05 * (600/41) / 1.1      =  400/41
  const CartPoleState right = after_push({}, Push::right);
  BOOST_TEST(right.velocity == 0.02 * 400 / 41, roundings);
  BOOST_TEST(right.angular_velocity == 0.02 * -600 / 41, roundings);
  const CartPoleState left = after_push({}, Push::left);
  BOOST_TEST(left.velocity == -right.velocity);
  BOOST_TEST(left.angular_velocity == -right.angular_velocity);
}

BOOST_AUTO_TEST_CASE(positions_move_with_the_speeds_before_the_push) {
  const CartPoleState next =
      after_push({.position = 1, .velocity = 3, .angle = 0.1, .angular_velocity = -2}, Push::right);
  BOOST_TEST(next.position == 1.06, roundings);  // 1 + 0.02 * 3
  BOOST_TEST(next.angle == 0.06, roundings);     // 0.1 + 0.02 * -2
}

BOOST_AUTO_TEST_CASE(a_pole_that_lies_falls_by_its_weight_alone) {
  // At 90 degrees the cart cannot lift the pole: angular acceleration 9.8 / (0.5 * 4/3) = 14.7 for every push.
  const double flat = std::acos(0.0);
  const auto turned = [&](Push push) { return after_push({.angle = flat}, push).angular_velocity; };
  BOOST_TEST(turned(Push::right) == 0.02 * 14.7, roundings);
  BOOST_TEST(turned(Push::left) == 0.02 * 14.7, roundings);
}

BOOST_AUTO_TEST_CASE(a_turning_pole_pulls_the_cart_along) {
  // Lying and turning at 2 rad/s: the cart gets (10 + 0.05 * 4) / 1.1; the cosine 0 subtracts nothing.
  const CartPoleState next = after_push({.angle = std::acos(0.0), .angular_velocity = 2}, Push::right);
  BOOST_TEST(next.velocity == 0.02 * 10.2 / 1.1, roundings);
}

BOOST_AUTO_TEST_CASE(an_episode_ends_beyond_2_4_metres_and_12_degrees) {
  BOOST_TEST(!is_lost({.position = 2.4}));
  BOOST_TEST(is_lost({.position = 2.41}));
  BOOST_TEST(is_lost({.position = -2.41}));
  BOOST_TEST(!is_lost({.angle = 0.2094}));  // 12 degrees are 0.20944
  BOOST_TEST(is_lost({.angle = 0.2095}));
  BOOST_TEST(is_lost({.angle = -0.2095}));
  BOOST_TEST(!is_lost({.velocity = 100, .angular_velocity = 100}));
}

BOOST_AUTO_TEST_CASE(pushing_one_way_loses_within_eleven_steps) {
  // Known of CartPole-v1: constant pushes to the right end after 8 to 10 steps from every start.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CartPole cart_pole{troupe::Generator(seed)};
    double reward = 0;
    while (!cart_pole.over()) reward += cart_pole.step(Push::right);
    BOOST_TEST(reward >= 8);
    BOOST_TEST(reward <= 11);
  }
}

BOOST_AUTO_TEST_CASE(an_episode_begins_near_the_middle_anew_each_time) {
  CartPole cart_pole{troupe::Generator(1)};
  const CartPoleState first = cart_pole.state();
  cart_pole.reset();
  BOOST_TEST((cart_pole.state() != first));
  for (const double value : {first.position, first.velocity, first.angle, first.angular_velocity}) {
    BOOST_TEST(std::abs(value) <= 0.05);
    BOOST_TEST(value != 0);
  }
}

BOOST_AUTO_TEST_CASE(an_episode_is_won_after_500_steps_and_then_over) {
  CartPole cart_pole{troupe::Generator(1)};
  int steps = 0;
  // Keeps the pole up by pushing towards its next position.
  for (; !cart_pole.over(); ++steps) {
    const CartPoleState& s = cart_pole.state();
    cart_pole.step(s.angle + 0.5 * s.angular_velocity + 0.1 * s.velocity + 0.05 * s.position > 0 ? Push::right
                                                                                                 : Push::left);
  }
  BOOST_TEST(steps == 500);
  BOOST_TEST(!is_lost(cart_pole.state()));
  BOOST_CHECK_THROW(cart_pole.step(Push::left), std::logic_error);
  cart_pole.reset();
  BOOST_TEST(!cart_pole.over());
}

BOOST_AUTO_TEST_SUITE_END()
