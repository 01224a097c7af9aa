#include "autograd/ops_conv.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A leaf with different values in every element, no two closer than the steps of a gradcheck.
Variable filled(const Shape& shape) {
  Generator generator(11);
  const Tensor order = permutation(shape.numel(), generator).to(DType::f64);
  return Variable(sub(mul(order, 2.0 / static_cast<double>(shape.numel())), 0.9).reshape(shape), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops_conv)

BOOST_AUTO_TEST_CASE(convolution_has_the_gradients_worked_out_by_hand) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}, {1, 1, 3, 3});
  const Variable weight = leaf({1.0, 2.0, 3.0, 4.0}, {1, 1, 2, 2});
  const Variable bias = leaf({0.5});
  const Variable y = conv2d(cast(x, DType::f64), weight, bias);
  expect(y.value(), {37.5, 47.5, 67.5, 77.5}, {1, 1, 2, 2});  // 1*1 + 2*2 + 4*3 + 5*4 + 0.5, ...
  const Gradients gradients = backward(sum(y));
  expect(gradients.of(weight), {12.0, 16.0, 24.0, 28.0}, {1, 1, 2, 2});  // 1+2+4+5, 2+3+5+6, ...
  expect(gradients.of(bias), {4.0});
  // how often each pixel meets each weight: corners one, edges two, the centre all four
  expect(gradients.of(x), {1.0, 3.0, 2.0, 4.0, 10.0, 6.0, 3.0, 7.0, 4.0}, {1, 1, 3, 3});
}

BOOST_AUTO_TEST_CASE(convolution_agrees_with_finite_differences) {
  const Conv2dOptions options{.stride = {2, 1}, .padding = {1, 0}};
  expect_gradcheck([](Inputs v) { return conv2d(v[0], v[1], v[2]); },
                   {filled({2, 2, 4, 4}), filled({3, 2, 3, 3}), filled({3})});
  expect_gradcheck([&](Inputs v) { return conv2d(v[0], v[1], {}, options); },
                   {filled({1, 2, 5, 4}), filled({2, 2, 3, 2})});
}

BOOST_AUTO_TEST_SUITE_END()
