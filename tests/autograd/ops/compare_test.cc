#include "autograd/ops/compare.h"

#include <limits>

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(compare)

BOOST_AUTO_TEST_CASE(comparisons_of_variables_are_those_of_their_values) {
  const Variable a = leaf({1.0, 2.0, 3.0});
  const Variable b = leaf({3.0, 2.0, 1.0});
  BOOST_CHECK(same_bytes(a == b, from_values<bool>({false, true, false})));
  BOOST_CHECK(same_bytes(a != b, from_values<bool>({true, false, true})));
  BOOST_CHECK(same_bytes(a < b, from_values<bool>({true, false, false})));
  BOOST_CHECK(same_bytes(a <= b, from_values<bool>({true, true, false})));
  BOOST_CHECK(same_bytes(a > b, from_values<bool>({false, false, true})));
  BOOST_CHECK(same_bytes(a >= b, from_values<bool>({false, true, true})));
}

BOOST_AUTO_TEST_CASE(a_variable_compares_with_a_number_and_with_a_tensor) {
  const Variable a = leaf({1.0, 2.0, 3.0});
  const Tensor t = from_values<double>({3.0, 2.0, 1.0});
  BOOST_CHECK(same_bytes(a == 2.0, from_values<bool>({false, true, false})));
  BOOST_CHECK(same_bytes(a != 2, from_values<bool>({true, false, true})));
  BOOST_CHECK(same_bytes(a < 2.0, from_values<bool>({true, false, false})));
  BOOST_CHECK(same_bytes(a <= 2.0, from_values<bool>({true, true, false})));
  BOOST_CHECK(same_bytes(a > 2.0, from_values<bool>({false, false, true})));
  BOOST_CHECK(same_bytes(a >= 2.0, from_values<bool>({false, true, true})));
  BOOST_CHECK(same_bytes(a < t, from_values<bool>({true, false, false})));
  BOOST_CHECK(same_bytes(t < a, from_values<bool>({false, false, true})));
  BOOST_CHECK(same_bytes(t == a, a == t));
}

BOOST_AUTO_TEST_CASE(questions_about_a_variable_are_about_its_value) {
  const Tensor t = from_values<double>({1.0, std::numeric_limits<double>::infinity(), -2.0, 4.0}, {2, 2});
  const Variable x(t, RequiresGrad::yes);
  BOOST_TEST(same_bytes(argmax(x), argmax(t)));
  BOOST_TEST(same_bytes(argmax(x, 1), argmax(t, 1)));
  BOOST_TEST(same_bytes(argmin(x), argmin(t)));
  BOOST_TEST(same_bytes(argmin(x, 0, KeepDim::yes), argmin(t, 0, KeepDim::yes)));
  BOOST_TEST(same_bytes(isinf(x), isinf(t)));
  BOOST_TEST(same_bytes(isnan(x), isnan(t)));
  BOOST_TEST(same_bytes(isfinite(x), isfinite(t)));
  BOOST_TEST(same_bytes(isclose(x, t * 1.000001), isclose(t, t * 1.000001)));
  BOOST_TEST(allclose(x, t));
  BOOST_TEST(!allclose(x, t * 2.0));
}

BOOST_AUTO_TEST_CASE(a_comparison_chooses_where_the_gradient_goes) {
  const Variable x = leaf({-1.0, 2.0, -3.0});
  expect(gradient_of(x, where(x > 0.0, x, x * 0.5)), {0.5, 2.0, 1.5}, {3});
}

BOOST_AUTO_TEST_SUITE_END()
