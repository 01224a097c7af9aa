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
}

BOOST_AUTO_TEST_SUITE_END()
