#include "autograd/ops/conv.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_conv)

namespace {

/// A leaf with distinct elements, further apart than the steps of a gradcheck.
Variable filled(const Shape& shape) {
  Generator generator(11);
  const Tensor order = permutation(shape.numel(), generator).to(DType::f64);
  return Variable(sub(mul(order, 2.0 / static_cast<double>(shape.numel())), 0.9).reshape(shape), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(convolution_has_the_gradients_worked_out_by_hand) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0}, {1, 1, 3, 3});
  const Variable weight = leaf({1.0, 2.0, 3.0, 4.0}, {1, 1, 2, 2});
  const Variable bias = leaf({0.5});
  const Variable y = conv2d(cast(x, DType::f64), weight, bias);
  expect(y.value(), {37.5, 47.5, 67.5, 77.5}, {1, 1, 2, 2});  // 1*1 + 2*2 + 4*3 + 5*4 + 0.5, ...
  const Gradients gradients = backward(sum(y));
  expect(gradients.of(weight), {12.0, 16.0, 24.0, 28.0}, {1, 1, 2, 2});  // 1+2+4+5, 2+3+5+6, ...
  expect(gradients.of(bias), {4.0});
  // The number of weights that each pixel meets: corners one, edges two, the centre all four.
  expect(gradients.of(x), {1.0, 3.0, 2.0, 4.0, 10.0, 6.0, 3.0, 7.0, 4.0}, {1, 1, 3, 3});
}

BOOST_AUTO_TEST_CASE(convolution_agrees_with_finite_differences) {
  const Conv2dOptions options{.stride = {2, 1}, .padding = {1, 0}};
  expect_gradcheck([](Inputs v) { return conv2d(v[0], v[1], v[2]); },
                   {filled({2, 2, 4, 4}), filled({3, 2, 3, 3}), filled({3})});
  expect_gradcheck([&](Inputs v) { return conv2d(v[0], v[1], {}, options); },
                   {filled({1, 2, 5, 4}), filled({2, 2, 3, 2})});
}

BOOST_AUTO_TEST_CASE(convolutions_of_groups_agree_with_finite_differences) {
  const Conv2dOptions two{.stride = {1, 2}, .padding = {1, 0}, .groups = 2};
  expect_gradcheck([&](Inputs v) { return conv2d(v[0], v[1], v[2], two); },
                   {filled({2, 4, 3, 4}), filled({4, 2, 2, 2}), filled({4})});
  const Conv2dOptions each{.padding = {1, 1}, .dilation = {2, 1}, .groups = 3};
  expect_gradcheck([&](Inputs v) { return conv2d(v[0], v[1], {}, each); },
                   {filled({1, 3, 4, 3}), filled({6, 1, 2, 3})});
  expect_gradcheck([](Inputs v) { return conv2d(v[0], v[1], v[2]); },
                   {filled({3, 2, 2, 2}), filled({3, 2, 1, 1}), filled({3})});
}

BOOST_AUTO_TEST_CASE(lines_have_the_gradients_worked_out_by_hand) {
  const Variable x = leaf({1.0, 2.0, 3.0}, {1, 1, 3});
  const Variable weight = leaf({10.0, 100.0}, {1, 1, 2});
  const Variable bias = leaf({0.5});
  const Variable y = conv1d(x, weight, bias);
  expect(y.value(), {210.5, 320.5}, {1, 1, 2});                // 1*10 + 2*100, 2*10 + 3*100
  expect(gradient_of(x, y), {10.0, 120.0, 200.0}, {1, 1, 3});  // 10, 100 + 2*10, 2*100
  expect(gradient_of(weight, y), {5.0, 8.0}, {1, 1, 2});       // 1 + 2*2, 2 + 2*3
  expect(gradient_of(bias, y), {3.0});                         // 1 + 2
  const Variable z = conv_transpose1d(x, weight, bias);
  expect(z.value(), {10.5, 120.5, 230.5, 300.5}, {1, 1, 4});    // 10, 100 + 20, 200 + 30, 300
  expect(gradient_of(x, z), {210.0, 320.0, 430.0}, {1, 1, 3});  // 10 + 2*100, 2*10 + 3*100, 3*10 + 4*100
  expect(gradient_of(weight, z), {14.0, 20.0}, {1, 1, 2});      // 1 + 2*2 + 3*3, 2*1 + 3*2 + 4*3
  expect(gradient_of(bias, z), {10.0});                         // 1 + 2 + 3 + 4
}

BOOST_AUTO_TEST_CASE(lines_and_transposed_convolutions_agree_with_finite_differences) {
  const Conv1dOptions line{.stride = 2, .padding = 1, .dilation = 2, .groups = 2};
  expect_gradcheck([&](Inputs v) { return conv1d(v[0], v[1], v[2], line); },
                   {filled({2, 4, 7}), filled({2, 2, 3}), filled({2})});
  const ConvTranspose1dOptions transposed_line{.stride = 3, .padding = 1, .output_padding = 2, .groups = 2};
  expect_gradcheck([&](Inputs v) { return conv_transpose1d(v[0], v[1], v[2], transposed_line); },
                   {filled({2, 4, 3}), filled({4, 1, 2}), filled({2})});
  expect_gradcheck([](Inputs v) { return conv_transpose2d(v[0], v[1], v[2]); },
                   {filled({2, 2, 2, 3}), filled({2, 3, 2, 2}), filled({3})});
  const ConvTranspose2dOptions options{
      .stride = {2, 1}, .padding = {1, 0}, .output_padding = {1, 1}, .dilation = {1, 2}, .groups = 2};
  expect_gradcheck([&](Inputs v) { return conv_transpose2d(v[0], v[1], {}, options); },
                   {filled({1, 2, 3, 2}), filled({2, 2, 3, 2})});
}

BOOST_AUTO_TEST_CASE(only_operands_that_require_a_gradient_get_one) {
  const Variable x = filled({1, 1, 3, 3});
  const Variable constant = ones({1, 1, 2, 2}, DType::f64);
  BOOST_CHECK_EQUAL(backward(sum(conv2d(x, constant))).size(), 1U);
  BOOST_CHECK_EQUAL(backward(sum(conv_transpose2d(constant, x))).size(), 1U);
  BOOST_CHECK(!conv2d(constant, constant).requires_grad());
}

BOOST_AUTO_TEST_CASE(convolutions_that_keep_the_size_agree_with_finite_differences) {
  const auto images = [](Inputs v) {
    return conv2d(v[0], v[1], v[2], {.padding = {kSame, kSame}, .dilation = {1, 2}});
  };
  expect_gradcheck(images, {drawn({1, 2, 4, 3}, 1), drawn({2, 2, 2, 2}, 2), drawn({2}, 3)});
  const auto lines = [](Inputs v) { return conv1d(v[0], v[1], {}, {.padding = kSame}); };
  expect_gradcheck(lines, {drawn({2, 1, 5}, 1), drawn({3, 1, 4}, 2)});
}

BOOST_AUTO_TEST_SUITE_END()
