#include "autograd/nn/pool.h"

#include "autograd/ops/pool.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_pool)

BOOST_AUTO_TEST_CASE(pools_take_their_windows_from_their_options) {
  const Variable line = leaf({1.0, 2.0, 9.0, 4.0, 5.0}, {1, 1, 5});
  expect(nn::MaxPool1d()(line).value(), {2.0, 9.0}, {1, 1, 2});
  expect(nn::MaxPool1d({.kernel = 3, .stride = 1})(line).value(), {9.0, 9.0, 9.0}, {1, 1, 3});
  expect(nn::AvgPool1d({.ceil_mode = true})(line).value(), {1.5, 6.5, 5.0}, {1, 1, 3});
  expect(nn::AdaptiveAvgPool1d(1)(line).value(), {4.2}, {1, 1, 1});  // 21 / 5
  const Variable image = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, {1, 1, 2, 4});
  expect(nn::MaxPool2d()(image).value(), {6.0, 8.0}, {1, 1, 1, 2});
  expect(nn::MaxPool2d({.kernel = {1, 2}})(image).value(), {2.0, 4.0, 6.0, 8.0}, {1, 1, 2, 2});  // stride = kernel
  expect(nn::AvgPool2d()(image).value(), {3.5, 5.5}, {1, 1, 1, 2});
  expect(nn::AvgPool2d({.kernel = {2, 2}, .padding = {1, 1}, .count_include_pad = false})(image).value(),
         {1.0, 2.5, 4.0, 5.0, 6.5, 8.0}, {1, 1, 2, 3});
  expect(nn::AdaptiveAvgPool2d({1, 1})(image).value(), {4.5}, {1, 1, 1, 1});
  expect(nn::AdaptiveMaxPool2d({2, 1})(image).value(), {4.0, 8.0}, {1, 1, 2, 1});
}

BOOST_AUTO_TEST_SUITE_END()
