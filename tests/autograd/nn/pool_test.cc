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

BOOST_AUTO_TEST_CASE(one_number_is_a_square_window_as_in_torch) {
  const Variable image = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, {1, 1, 2, 4});
  const std::initializer_list<double> largest{6.0, 8.0};
  const std::initializer_list<double> means{3.5, 5.5};
  for (const Variable& y : {max_pool2d(image, 2), max_pool2d(image, 2, 2), nn::MaxPool2d(2)(image)})
    expect(y.value(), largest, {1, 1, 1, 2});
  for (const Variable& y : {avg_pool2d(image, 2), avg_pool2d(image, 2, 2), nn::AvgPool2d(2, 2)(image)})
    expect(y.value(), means, {1, 1, 1, 2});
  expect(max_pool2d(image.value(), 2).output, largest, {1, 1, 1, 2});
  expect(avg_pool2d(image.value(), 2), means, {1, 1, 1, 2});
  expect(max_pool2d(image, 2, 1).value(), {6.0, 7.0, 8.0}, {1, 1, 1, 3});
  expect(max_pool2d(image, 2, 2, 1).value(), {1.0, 3.0, 4.0, 5.0, 7.0, 8.0}, {1, 1, 2, 3});
  expect(nn::AdaptiveAvgPool2d(1)(image).value(), {4.5}, {1, 1, 1, 1});
  expect(adaptive_avg_pool2d(image, 1).value(), {4.5}, {1, 1, 1, 1});
  expect(nn::AdaptiveMaxPool2d(1)(image).value(), {8.0}, {1, 1, 1, 1});
  expect(max_pool2d(image, {.kernel = 2, .stride = 1}).value(), {6.0, 7.0, 8.0}, {1, 1, 1, 3});
  expect(avg_pool2d(image, {.kernel = {2, 1}, .stride = 2}).value(), {3.0, 5.0}, {1, 1, 1, 2});
  expect(max_pool2d(image, {}).value(), largest, {1, 1, 1, 2});  // options, not a number
}

BOOST_AUTO_TEST_SUITE_END()
