#include "autograd/ops/pool.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_pool)

namespace {

/// A leaf with distinct elements, further apart than the steps of a gradcheck.
Variable filled(const Shape& shape) {
  Generator generator(11);
  const Tensor order = permutation(shape.numel(), generator).to(DType::f64);
  return Variable(sub(mul(order, 2.0 / static_cast<double>(shape.numel())), 0.9).reshape(shape), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(pooling_passes_the_gradient_to_the_largest_element) {
  const Variable x = leaf({1.0, 5.0, 2.0, 0.0, 3.0, 4.0, 8.0, 7.0}, {1, 1, 2, 4});
  const Variable y = max_pool2d(x);
  expect(y.value(), {5.0, 8.0}, {1, 1, 1, 2});
  expect(backward(sum(y * 3.0)).of(x), {0.0, 3.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0}, {1, 1, 2, 4});
  expect_gradcheck(
      [](Inputs v) {
        return max_pool2d(v[0], {.kernel = {3, 2}, .stride = {1, 2}, .padding = {1, 0}});
      },
      {filled({2, 2, 4, 4})});
}

BOOST_AUTO_TEST_CASE(a_mean_shares_its_gradient_among_its_window) {
  const Variable x = leaf({1.0, 5.0, 2.0, 0.0}, {1, 1, 4});
  expect(gradient_of(x, avg_pool1d(x)), {0.5, 0.5, 1.0, 1.0}, {1, 1, 4});
  expect(gradient_of(x, adaptive_avg_pool1d(x, 1)), {0.25, 0.25, 0.25, 0.25}, {1, 1, 4});
  expect(gradient_of(x, max_pool1d(x)), {0.0, 1.0, 2.0, 0.0}, {1, 1, 4});
}

BOOST_AUTO_TEST_CASE(pools_agree_with_finite_differences) {
  const Variable image = filled({2, 2, 5, 4});
  const Variable line = filled({2, 3, 7});
  const MaxPool2dOptions dilated{
      .kernel = {2, 2}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {2, 1}, .ceil_mode = true};
  const AvgPool2dOptions overlapping{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}, .ceil_mode = true};
  AvgPool2dOptions inside = overlapping;
  inside.count_include_pad = false;
  expect_gradcheck([&](Inputs v) { return max_pool2d(v[0], dilated); }, {image});
  expect_gradcheck([](Inputs v) { return max_pool1d(v[0], {.kernel = 3, .stride = 1, .padding = 1}); }, {line});
  expect_gradcheck([](Inputs v) { return adaptive_max_pool2d(v[0], {3, 3}); }, {image});
  expect_gradcheck([&](Inputs v) { return avg_pool2d(v[0], overlapping); }, {image});
  expect_gradcheck([&](Inputs v) { return avg_pool2d(v[0], inside); }, {image});
  expect_gradcheck([](Inputs v) { return avg_pool1d(v[0], {.kernel = 3, .stride = 2, .padding = 1}); }, {line});
  expect_gradcheck([](Inputs v) { return adaptive_avg_pool2d(v[0], {3, 2}); }, {image});
  expect_gradcheck([](Inputs v) { return adaptive_avg_pool1d(v[0], 3); }, {line});
  expect_gradcheck([](Inputs v) { return avg_pool2d(transpose(v[0])); }, {image});
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operations) {
  expect_throw<ShapeError>([] { (void)avg_pool1d(filled({2, 3})); }, "[avg_pool1d] not 3 dimensions: (2, 3)");
}

BOOST_AUTO_TEST_SUITE_END()
