#include "autograd/ops_nn.h"

#include <cmath>

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

BOOST_AUTO_TEST_SUITE(ops_nn)

BOOST_AUTO_TEST_CASE(linear_multiplies_with_the_transposed_weight_and_adds_the_bias) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable weight = leaf({1.0, 10.0, 100.0, 1000.0}, {2, 2});
  const Variable bias = leaf({0.5, 0.25});
  const Variable y = linear(x, weight, bias);
  expect(y.value(), {21.5, 2100.25, 43.5, 4300.25}, {2, 2});  // 1*1 + 2*10 + 0.5, 1*100 + 2*1000 + 0.25, ...
  const Gradients gradients = backward(sum(y));
  expect(gradients.of(x), {101.0, 1010.0, 101.0, 1010.0}, {2, 2});
  expect(gradients.of(weight), {4.0, 6.0, 4.0, 6.0}, {2, 2});
  expect(gradients.of(bias), {2.0, 2.0});
}

BOOST_AUTO_TEST_CASE(linear_agrees_with_finite_differences) {
  for (const Shape& x : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}}) {
    expect_gradcheck([](Inputs v) { return tanh(linear(v[0], v[1], v[2])); }, {filled(x), filled({2, 4}), filled({2})});
    expect_gradcheck([](Inputs v) { return tanh(linear(v[0], v[1])); }, {filled(x), filled({2, 4})});
  }
  expect_gradcheck([](Inputs v) { return linear(transpose(v[0]), transpose(v[1])); }, {filled({4, 3}), filled({4, 2})});
}

BOOST_AUTO_TEST_CASE(linear_refuses_sizes_that_differ) {
  expect_throw<ShapeError>(
      [] {
        (void)linear(filled({8, 4}), filled({3, 5}));
      },
      "[linear] sizes differ: x (8, 4), weight (3, 5)");
}

BOOST_AUTO_TEST_CASE(softmax_and_its_logarithm_agree_with_finite_differences) {
  for (int dim : {0, -1}) {
    expect_gradcheck([&](Inputs v) { return softmax(v[0], dim); }, {filled({2, 3})});
    expect_gradcheck([&](Inputs v) { return log_softmax(v[0], dim); }, {filled({2, 3})});
  }
  expect_gradcheck([](Inputs v) { return log_softmax(transpose(v[0])); }, {filled({3, 2})});
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_right_class_has_gradient_in_that_class_only) {
  const Variable log_probs = leaf({-1.0, -2.0, -3.0, -4.0}, {2, 2});
  const Tensor target = from_values<std::int64_t>({1, 0});
  expect(nll_loss(log_probs, target).value(), 2.5);  // (2 + 3) / 2
  expect(backward(nll_loss(log_probs, target)).of(log_probs), {0.0, -0.5, -0.5, 0.0}, {2, 2});
  expect(backward(nll_loss(log_probs, target, Reduction::sum)).of(log_probs), {0.0, -1.0, -1.0, 0.0}, {2, 2});
}

BOOST_AUTO_TEST_CASE(the_gradient_of_cross_entropy_is_the_probability_less_one_for_the_right_class) {
  const Variable logits = leaf({0.0, std::log(3.0)}, {1, 2});  // probabilities 1/4, 3/4
  const Tensor target = from_values<std::int64_t>({0});
  expect(cross_entropy(logits, target).value(), std::log(4.0));
  expect(backward(cross_entropy(logits, target)).of(logits), {-0.75, 0.75}, {1, 2});
  const Tensor targets = from_values<std::int64_t>({2, 0, 1});
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    expect_gradcheck([&](Inputs v) { return cross_entropy(v[0], targets, reduction); }, {filled({3, 3})});
  }
}

BOOST_AUTO_TEST_CASE(squared_errors_pull_both_sides_together) {
  const Variable x = leaf({1.0, 4.0});
  const Variable y = leaf({3.0, 1.0});
  expect(mse_loss(x, y).value(), 6.5);  // (4 + 9) / 2
  expect(mse_loss(x, y, Reduction::sum).value(), 13.0);
  expect(mse_loss(x, y, Reduction::none).value(), {4.0, 9.0});
  const Gradients gradients = backward(mse_loss(x, y));
  expect(gradients.of(x), {-2.0, 3.0});
  expect(gradients.of(y), {2.0, -3.0});
  for (const Reduction reduction : {Reduction::none, Reduction::sum, Reduction::mean}) {
    expect_gradcheck([&](Inputs v) { return mse_loss(v[0], v[1], reduction); },
                     {filled({2, 3}), leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3})});
  }
  expect_throw<ShapeError>([&] { (void)mse_loss(x, leaf({1.0, 2.0, 3.0})); }, "[mse_loss] shapes differ: (2) and (3)");
}

BOOST_AUTO_TEST_CASE(dropout_gives_the_same_mask_to_values_and_gradients) {
  Generator generator(3);
  const Variable x(ones({1000}, DType::f64), RequiresGrad::yes);
  const Variable y = dropout(x, 0.5, generator);
  const Tensor gradient = backward(sum(y)).of(x);
  BOOST_CHECK(same_bytes(gradient, y.value()));
  const double kept = sum(gt(gradient, 0.0)).item();
  BOOST_CHECK(kept > 400.0 && kept < 600.0);  // 500 +- 16 expected
  expect(max(gradient), 2.0);
  expect_gradcheck(
      [](Inputs v) {
        Generator fixed(5);
        return dropout(v[0], 0.3, fixed);
      },
      {filled({3, 3})});
}

BOOST_AUTO_TEST_SUITE_END()
