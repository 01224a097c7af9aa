#include "samples/recommender/clicks.h"

#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tensor/create.h"
#include "tensor/ops.h"

using namespace samples;
using troupe::from_values;
using troupe::Generator;
using troupe::Tensor;

BOOST_AUTO_TEST_SUITE(clicks)

BOOST_AUTO_TEST_CASE(area_under_the_curve_is_the_share_of_pairs_in_order) {
  const Tensor clicked = from_values<float>({0, 1, 0, 1});
  BOOST_TEST(area_under_curve(from_values<float>({1, 2, 3, 4}), clicked) == 0.75);  // of (2,1) (2,3) (4,1) (4,3) three
  BOOST_TEST(area_under_curve(from_values<float>({4, 3, 2, 1}), clicked) == 0.25);
  BOOST_TEST(area_under_curve(from_values<float>({1, 1, 1, 1}), clicked) == 0.5);
  BOOST_TEST(area_under_curve(from_values<float>({0, 2, 2, 3}), clicked) == 0.875);  // (2,2) counts one half
  BOOST_TEST(area_under_curve(from_values<float>({1, 2}), from_values<float>({1, 1})) == 0.5);
}

BOOST_AUTO_TEST_CASE(clicks_follow_their_probabilities_which_order_them_best) {
  const ClickModel model(50, 40, 3);
  Generator generator(1);
  const Clicks drawn = model.draw(20'000, generator);
  const Tensor chances = model.probabilities(drawn);
  // The sum of 20,000 differences of variance below 1/4: 6 standard deviations.
  BOOST_TEST(std::abs(sum(drawn.clicked - chances).item()) < 6 * std::sqrt(20'000.0) / 2);
  const double best = area_under_curve(chances, drawn.clicked);
  BOOST_TEST(best > 0.75);
  BOOST_TEST(best < 0.95);
  BOOST_TEST(std::abs(area_under_curve(uniform({20'000}, 0.0, 1.0, generator), drawn.clicked) - 0.5) < 0.03);
  BOOST_TEST(max(drawn.users).item() == 49);
  BOOST_TEST(max(drawn.items).item() < 40);
  const Tensor firsts = drawn.items < 10.0;
  BOOST_TEST(mean(firsts.to(troupe::DType::f32)).item() > 0.45);  // a quarter of the items, half of what is shown
}

BOOST_AUTO_TEST_SUITE_END()
