#include <cmath>

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_activation)

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const auto x = [] { return leaf({-2.0, -0.4, 0.3, 1.7}, {2, 2}); };
  expect_gradcheck([](Inputs v) { return sigmoid(v[0]) * tanh(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return relu(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return gelu(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return gelu(v[0], Gelu::tanh); }, {x()});
  expect_gradcheck([](Inputs v) { return silu(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return softplus(v[0]) + softplus(v[0], 0.5); }, {x()});
  expect_gradcheck([](Inputs v) { return leaky_relu(v[0]) * leaky_relu(v[0], -0.5); }, {x()});
  expect_gradcheck([](Inputs v) { return elu(v[0]) * elu(v[0], 2.0); }, {x()});
  expect_gradcheck([](Inputs v) { return hardtanh(v[0]) * hardtanh(v[0], -0.5, 2.0); }, {x()});
  expect_gradcheck([](Inputs v) { return relu6(v[0] * 4.0); }, {x()});
  expect_gradcheck([](Inputs v) { return celu(v[0]) * celu(v[0], 0.5); }, {x()});
  expect_gradcheck([](Inputs v) { return selu(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return mish(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return softsign(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return tanhshrink(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return hardsigmoid(v[0] * 2.0); }, {x()});
  expect_gradcheck([](Inputs v) { return hardswish(v[0] * 2.0); }, {x()});
  expect_gradcheck([](Inputs v) { return softshrink(v[0]) * hardshrink(v[0], 1.0); }, {x()});
  expect_gradcheck([](Inputs v) { return threshold(v[0], 0.0, 3.0) * v[0]; }, {x()});
  expect_gradcheck([](Inputs v) { return prelu(v[0], v[1]); }, {x(), leaf({0.5, -0.25})});
  expect_gradcheck([](Inputs v) { return prelu(v[0], v[1]); }, {x(), leaf({0.5})});
  for (const int dim : {0, 1}) expect_gradcheck([dim](Inputs v) { return glu(v[0], dim); }, {x()});
}

BOOST_AUTO_TEST_CASE(gradients_where_two_pieces_meet_are_those_that_are_promised) {
  const Variable x = leaf({-1.0, 0.0, 1.0, 6.0});
  expect(backward(sum(leaky_relu(x, 0.25))).of(x), {0.25, 0.25, 1.0, 1.0});
  expect(backward(sum(elu(x, 0.25))).of(x), {0.25 * std::exp(-1.0), 0.25, 1.0, 1.0});
  expect(backward(sum(hardtanh(x))).of(x), {0.0, 1.0, 0.0, 0.0});
  expect(backward(sum(relu6(x))).of(x), {0.0, 0.0, 1.0, 0.0});
  expect(backward(sum(softshrink(x, 1.0))).of(x), {0.0, 0.0, 0.0, 1.0});
  expect(backward(sum(hardshrink(x, 1.0))).of(x), {0.0, 0.0, 0.0, 1.0});
  expect(backward(sum(threshold(x, 1.0, 9.0))).of(x), {0.0, 0.0, 0.0, 1.0});
  expect(backward(sum(hardsigmoid(x * 3.0))).of(x), {0.0, 0.5, 0.0, 0.0});
  expect(backward(sum(hardswish(x * 3.0))).of(x), {-1.5, 1.5, 4.5, 3.0});
  const Variable slope = leaf({0.25});
  const Gradients by = backward(sum(prelu(x, slope)));
  expect(by.of(x), {0.25, 0.25, 1.0, 1.0});
  expect(by.of(slope), {-1.0});
}

BOOST_AUTO_TEST_CASE(a_nan_passes_the_gradient_on_where_the_function_is_cut_off) {
  const Variable x = leaf({std::nan(""), 9.0});
  expect(backward(sum(hardtanh(x))).of(x), {1.0, 0.0});
  expect(backward(sum(relu6(x))).of(x), {1.0, 0.0});
  expect(backward(sum(softshrink(x, 9.0))).of(x), {1.0, 0.0});
  expect(backward(sum(hardshrink(x, 9.0))).of(x), {1.0, 0.0});
}

BOOST_AUTO_TEST_CASE(softplus_has_the_gradient_1_above_its_threshold) {
  const Variable x = leaf({-1.0, 0.5, 3.0, 30.0});
  const Tensor gradient = backward(sum(softplus(x, 2.0, 5.0))).of(x);
  expect(gradient.slice(0, 2), {1.0, 1.0});
  expect_gradcheck([](Inputs v) { return softplus(v[0], 2.0, 5.0); }, {leaf({-1.0, 0.5, 3.0})});
  expect(backward(sum(softplus(x))).of(x).slice(0, 3), {1.0});
}

BOOST_AUTO_TEST_SUITE_END()
