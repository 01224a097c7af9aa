#include "autograd/ops/pointwise.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_pointwise)

BOOST_AUTO_TEST_CASE(lerp_shares_its_gradient_by_weight) {
  const Variable a = leaf({0.0, 10.0});
  const Variable b = leaf({8.0, 20.0});
  const Gradients by_number = backward(sum(lerp(a, b, 0.25)));
  expect(by_number.of(a), {0.75, 0.75});
  expect(by_number.of(b), {0.25, 0.25});
  const Variable weight = leaf({0.25, 2.0});
  const Gradients by_weight = backward(sum(lerp(a, b, weight)));
  expect(by_weight.of(a), {0.75, -1.0});
  expect(by_weight.of(b), {0.25, 2.0});
  expect(by_weight.of(weight), {8.0, 10.0});
}

BOOST_AUTO_TEST_CASE(products_and_quotients_have_the_gradients_of_school) {
  const Variable x = leaf({1.0});
  const Variable a = leaf({6.0});
  const Variable b = leaf({4.0});
  const Gradients product = backward(sum(addcmul(x, a, b, 0.5)));
  expect(product.of(x), {1.0});
  expect(product.of(a), {2.0});
  expect(product.of(b), {3.0});
  const Gradients quotient = backward(sum(addcdiv(x, a, b, 2.0)));
  expect(quotient.of(x), {1.0});
  expect(quotient.of(a), {0.5});    // 2 / 4
  expect(quotient.of(b), {-0.75});  // -2 * 6 / 16
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const auto column = [] { return leaf({0.5, -1.5}, {2, 1}); };
  const auto row = [] { return leaf({1.1, -2.2, 0.9}); };
  const auto number = [] { return leaf(0.7); };
  expect_gradcheck([](Inputs v) { return lerp(v[0], v[1], 0.3); }, {column(), row()});
  expect_gradcheck([](Inputs v) { return lerp(v[0], v[1], v[2]); }, {column(), row(), number()});
  expect_gradcheck([](Inputs v) { return addcmul(v[0], v[1], v[2], -1.5); }, {column(), row(), number()});
  expect_gradcheck([](Inputs v) { return addcdiv(v[0], v[1], v[2], -1.5); }, {column(), number(), row()});
}

BOOST_AUTO_TEST_SUITE_END()
