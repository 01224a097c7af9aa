#include "autograd/ops/compare.h"

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

BOOST_AUTO_TEST_CASE(a_comparison_chooses_where_the_gradient_goes) {
  const Variable x = leaf({-1.0, 2.0, -3.0});
  expect(gradient_of(x, where(x > 0.0, x, x * 0.5)), {0.5, 2.0, 1.5}, {3});
}

BOOST_AUTO_TEST_SUITE_END()
