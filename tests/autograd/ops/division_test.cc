#include "autograd/ops/division.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_division)

BOOST_AUTO_TEST_CASE(a_rest_grows_with_the_dividend_and_shrinks_by_the_quotient) {
  const Variable a = leaf({7.0, -7.0});
  const Variable b = leaf({3.0, 3.0});
  const Gradients truncated = backward(sum(fmod(a, b)));
  expect(truncated.of(a), {1.0, 1.0});
  expect(truncated.of(b), {-2.0, 2.0});  // -trunc(7/3), -trunc(-7/3)
  const Gradients floored = backward(sum(remainder(a, b)));
  expect(floored.of(a), {1.0, 1.0});
  expect(floored.of(b), {-2.0, 3.0});  // -floor(7/3), -floor(-7/3)
  expect(backward(sum(fmod(a, 2.0))).of(a), {1.0, 1.0});
  expect(backward(sum(remainder(a, 2.0))).of(a), {1.0, 1.0});
  expect(backward(sum(remainder(-7.0, b))).of(b), {3.0, 3.0});
}

BOOST_AUTO_TEST_CASE(whole_quotients_have_no_gradient) {
  const Variable a = leaf({7.0, -7.0});
  const Variable b = leaf(3.0);
  const Variable quotient = floor_divide(a, b);
  expect(quotient.value(), {2.0, -3.0});
  const Gradients none = backward(sum(quotient));
  expect(none.of(a), {0.0, 0.0});
  expect(none.of(b), 0.0);
  expect(backward(sum(floor_divide(a, 2.0))).of(a), {0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const auto column = [] { return leaf({7.5, -6.5}, {2, 1}); };
  const auto row = [] { return leaf({1.1, -2.2, 0.9}); };
  expect_gradcheck([](Inputs v) { return fmod(v[0], v[1]); }, {column(), row()});
  expect_gradcheck([](Inputs v) { return remainder(v[0], v[1]); }, {column(), row()});
  expect_gradcheck([](Inputs v) { return remainder(transpose(v[0]), 2.0) * v[1]; }, {column(), leaf({1.5, 2.5})});
}

BOOST_AUTO_TEST_CASE(a_rounded_quotient_has_no_gradient) {
  const Variable a = leaf({7.0, -7.0});
  const Variable b = leaf(2.0);
  expect(div(a, b, Rounding::trunc).value(), {3.0, -3.0});
  expect(div(a, 2.0, Rounding::floor).value(), {3.0, -4.0});
  for (const Rounding rounding : {Rounding::trunc, Rounding::floor}) {
    const Gradients none = backward(sum(div(a, b, rounding)));
    expect(none.of(a), {0.0, 0.0});
    expect(none.of(b), 0.0);
    expect(backward(sum(div(a, 2.0, rounding))).of(a), {0.0, 0.0});
  }
  expect(backward(sum(div(a, b, Rounding::none))).of(a), {0.5, 0.5});
}

BOOST_AUTO_TEST_SUITE_END()
