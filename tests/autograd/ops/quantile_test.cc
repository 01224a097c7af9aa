#include <cmath>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_quantile)

BOOST_AUTO_TEST_CASE(the_element_in_the_middle_gets_the_gradient) {
  const Variable x = leaf({4.0, 1.0, 3.0, 2.0, 5.0, 0.0, 7.0, 6.0}, {2, 4});
  expect(median(x).value(), 3.0);
  expect(gradient_of(x, median(x)), {0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {2, 4});
  for (const KeepDim keep : {KeepDim::no, KeepDim::yes}) {
    expect(gradient_of(x, median(x, 1, keep).values), {0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0}, {2, 4});
  }
  expect(median(x, 1).indices, {3.0, 0.0});
  const Variable ties = leaf({1.0, 2.0, 2.0, 3.0});
  expect(gradient_of(ties, median(ties)), {0.0, 0.5, 0.5, 0.0});
  const double nan = std::nan("");
  const Variable one_nan = leaf({1.0, nan, 2.0});
  expect(gradient_of(one_nan, median(one_nan)), {0.0, 1.0, 0.0});
  const Variable two_nans = leaf({nan, 1.0, nan, 2.0});
  expect(gradient_of(two_nans, median(two_nans)), {0.5, 0.0, 0.5, 0.0});
}

BOOST_AUTO_TEST_CASE(the_elements_beside_a_quantile_share_the_gradient) {
  const Variable x = leaf({8.0, 0.0, 4.0, 2.0});
  expect(quantile(x, 0.75).value(), 5.0);
  expect(gradient_of(x, quantile(x, 0.75)), {0.25, 0.0, 0.75, 0.0});  // at 2.25 of 0 2 4 8
  expect(gradient_of(x, quantile(x, {0.0, 1.0}, 0)), {2.0, 1.0, 0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const std::vector<Variable> x{leaf({0.4, 1.0, 0.3, 2.0, 0.5, -1.0, 0.7, 0.6}, {2, 4})};
  expect_gradcheck([](Inputs v) { return tanh(median(v[0], 1).values); }, x);
  expect_gradcheck([](Inputs v) { return tanh(quantile(v[0], {0.2, 0.6}, 1)); }, x);
  expect_gradcheck([](Inputs v) { return tanh(quantile(v[0], 0.3)); }, x);
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ValueError>([] { (void)quantile(leaf({1.0}), -0.5); }, "[quantile] q outside [0, 1]: -0.5");
}

BOOST_AUTO_TEST_SUITE_END()
