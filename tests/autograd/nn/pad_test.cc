#include "autograd/nn/pad.h"

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_pad)

BOOST_AUTO_TEST_CASE(a_layer_pads_with_one_value_or_with_the_tensors_own) {
  const Variable x = from_values<float>({1, 2, 3});
  expect(nn::Pad({1, 1})(x).value(), {0, 1, 2, 3, 0}, {5});
  expect(nn::Pad({1, 1}, 9.0)(x).value(), {9, 1, 2, 3, 9}, {5});
  expect(nn::Pad({1, 1}, PadMode::reflect)(x).value(), {2, 1, 2, 3, 2}, {5});
  expect(nn::Pad({1, 1}, PadMode::replicate)(x).value(), {1, 1, 2, 3, 3}, {5});
  expect(nn::Pad({1, 1}, PadMode::circular)(x).value(), {3, 1, 2, 3, 1}, {5});
}

BOOST_AUTO_TEST_SUITE_END()
