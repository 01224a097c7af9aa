#include "samples/reinforcement/returns.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

using Values = std::vector<double>;

BOOST_AUTO_TEST_SUITE(returns)

BOOST_AUTO_TEST_CASE(a_step_is_worth_its_reward_and_later_ones_discounted) {
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(samples::discounted_returns(Values{1, 2, 4}, 0.5) == (Values{3, 4, 4}),
             per_element);  // 1 + 0.5*(2 + 0.5*4)
  BOOST_TEST(samples::discounted_returns(Values{1, 1, 1}, 1) == (Values{3, 2, 1}), per_element);
  BOOST_TEST(samples::discounted_returns(Values{}, 1).empty());
}

BOOST_AUTO_TEST_CASE(standardised_values_have_mean_0_and_deviation_1) {
  const double root = std::sqrt(1.5);  // 1 / sqrt((1 + 0 + 1) / 3)
  const Values found = samples::standardised(Values{3, 2, 1});
  BOOST_TEST(found == (Values{root, 0, -root}), boost::test_tools::tolerance(1e-15)
                                                    << boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(equal_values_are_standardised_to_zeros) {
  BOOST_TEST(samples::standardised(Values{7}) == (Values{0}), boost::test_tools::per_element());
  BOOST_TEST(samples::standardised(Values{2, 2}) == (Values{0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
