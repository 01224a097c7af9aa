#include "autograd/ops/loss.h"

#include <cmath>
#include <functional>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_loss)

namespace {

constexpr std::array kReductions{Reduction::none, Reduction::sum, Reduction::mean};

Variable random_leaf(const Shape& shape, std::uint64_t seed, double low = -2.0, double high = 2.0) {
  Generator generator(seed);
  return Variable(uniform(shape, low, high, generator, DType::f64), RequiresGrad::yes);
}

Tensor classes(std::initializer_list<std::int64_t> numbers) { return from_values<std::int64_t>(numbers); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_loss_of_a_right_class_has_gradient_in_that_class_only) {
  const Variable log_probs = leaf({-1.0, -2.0, -3.0, -4.0}, {2, 2});
  const Tensor target = classes({1, 0});
  expect(nll_loss(log_probs, target).value(), 2.5);  // (2 + 3) / 2
  expect(backward(nll_loss(log_probs, target)).of(log_probs), {0.0, -0.5, -0.5, 0.0}, {2, 2});
  expect(backward(nll_loss(log_probs, target, Reduction::sum)).of(log_probs), {0.0, -1.0, -1.0, 0.0}, {2, 2});
  expect(gradient_of(log_probs, nll_loss(log_probs, target, Reduction::none)), {0.0, -1.0, -2.0, 0.0}, {2, 2});
  // Weights 3 and 1 of the target classes: the mean divides by 4. An ignored example has no gradient.
  const Tensor weight = from_values<double>({1.0, 3.0});
  expect(backward(nll_loss(log_probs, target, {.weight = weight})).of(log_probs), {0.0, -0.75, -0.25, 0.0}, {2, 2});
  expect(backward(nll_loss(log_probs, target, {.ignore_index = 0})).of(log_probs), {0.0, -1.0, 0.0, 0.0}, {2, 2});
}

BOOST_AUTO_TEST_CASE(the_gradient_of_cross_entropy_is_the_probability_less_one_for_the_right_class) {
  const Variable logits = leaf({0.0, std::log(3.0)}, {1, 2});  // probabilities 1/4, 3/4
  const Tensor target = classes({0});
  expect(cross_entropy(logits, target).value(), std::log(4.0));
  expect(backward(cross_entropy(logits, target)).of(logits), {-0.75, 0.75}, {1, 2});
  // Targets 0.9 and 0.1: 1/4 - 0.9, 3/4 - 0.1
  expect(backward(cross_entropy(logits, target, {.label_smoothing = 0.2})).of(logits), {-0.65, 0.65}, {1, 2});
  expect(backward(cross_entropy(logits, classes({-100}), Reduction::sum)).of(logits), {0.0, 0.0}, {1, 2});
  expect(backward(cross_entropy(logits, from_values<double>({0.5, 0.5}, {1, 2}))).of(logits), {-0.25, 0.25}, {1, 2});
}

BOOST_AUTO_TEST_CASE(losses_of_classes_agree_with_finite_differences) {
  const Tensor weight = from_values<double>({0.5, 2.0, 1.0});
  for (const Reduction reduction : kReductions) {
    const auto check = [&](const Shape& shape, const Tensor& target) {
      expect_gradcheck([&](Inputs v) { return cross_entropy(v[0], target, reduction); }, {random_leaf(shape, 1)});
      expect_gradcheck(
          [&](Inputs v) {
            return cross_entropy(v[0], target,
                                 {.weight = weight, .ignore_index = 1, .reduction = reduction, .label_smoothing = 0.3});
          },
          {random_leaf(shape, 2)});
      expect_gradcheck(
          [&](Inputs v) {
            return nll_loss(v[0], target, {.weight = weight, .ignore_index = 1, .reduction = reduction});
          },
          {random_leaf(shape, 3)});
    };
    check({4, 3}, classes({2, 0, 1, 0}));
    check({3}, scalar(std::int64_t{2}));
    check({2, 3, 2}, from_values<std::int64_t>({2, 0, 1, 0}, {2, 2}));
    const Tensor wanted = from_values<double>({0.2, 0.3, 0.5, 1.0, 0.0, 0.0}, {2, 3});
    expect_gradcheck(
        [&](Inputs v) {
          return cross_entropy(v[0], wanted, {.weight = weight, .reduction = reduction, .label_smoothing = 0.3});
        },
        {random_leaf({2, 3}, 4)});
  }
  const Tensor many = classes({299, 0});
  expect_gradcheck([&](Inputs v) { return cross_entropy(transpose(v[0]), many); }, {random_leaf({300, 2}, 5)});
}

BOOST_AUTO_TEST_CASE(errors_of_pairs_pull_both_sides_together) {
  const Variable x = leaf({1.0, 4.0});
  const Variable y = leaf({3.0, 1.0});
  const Gradients of_mse = backward(mse_loss(x, y));
  expect(of_mse.of(x), {-2.0, 3.0});
  expect(of_mse.of(y), {2.0, -3.0});
  expect(gradient_of(x, l1_loss(x, y, Reduction::none)), {-1.0, 2.0});
  expect(gradient_of(y, l1_loss(x, y, Reduction::none)), {1.0, -2.0});
  expect(gradient_of(x, smooth_l1_loss(x, y, {.beta = 2.5, .reduction = Reduction::none})),
         {-0.8, 2.0});  // -2 / 2.5, 2 * 1
  expect(gradient_of(x, huber_loss(x, y, {.delta = 2.5, .reduction = Reduction::none})), {-2.0, 5.0});  // -2, 2 * 2.5
  expect(gradient_of(x, l1_loss(x, x.detach(), Reduction::none)), {0.0, 0.0});
  expect(gradient_of(x, smooth_l1_loss(x, x.detach(), {.beta = 0.0, .reduction = Reduction::none})), {0.0, 0.0});
  const Variable p = leaf({0.25, 0.5});
  // (p - q) / (p (1 - p)): -0.75 / 0.1875, 2 * 0
  expect(gradient_of(p, bce_loss(p, leaf({1.0, 0.5}), {.reduction = Reduction::none})), {-4.0, 0.0});
  const Variable z = leaf({std::log(3.0), 0.0});  // 3/4, 1/2
  expect(gradient_of(z, bce_with_logits(z, leaf({1.0, 0.0}), {.reduction = Reduction::none})), {-0.25, 1.0});
  const Variable q = leaf({0.0, 0.5});
  expect(gradient_of(z, kl_div(z, q, {.reduction = KlDivReduction::none})), {0.0, -1.0});  // -q, 2 * -q
  expect(gradient_of(q, kl_div(z, q, {.reduction = KlDivReduction::none})), {0.0, 2.0 * (std::log(0.5) + 1.0)});
}

BOOST_AUTO_TEST_CASE(losses_of_pairs_agree_with_finite_differences) {
  const auto check = [](const std::function<Variable(Inputs)>& loss, double low, double high) {
    expect_gradcheck(loss, {random_leaf({3, 2}, 7, low, high), random_leaf({3, 2}, 8, low, high)});
  };
  const Tensor weight = from_values<double>({0.5, 2.0});
  for (const Reduction reduction : kReductions) {
    check([&](Inputs v) { return mse_loss(v[0], v[1], reduction); }, -2.0, 2.0);
    check([&](Inputs v) { return l1_loss(v[0], v[1], reduction); }, -2.0, 2.0);
    check([&](Inputs v) { return smooth_l1_loss(v[0], v[1], {.beta = 0.7, .reduction = reduction}); }, -2.0, 2.0);
    check([&](Inputs v) { return huber_loss(v[0], v[1], {.delta = 0.7, .reduction = reduction}); }, -2.0, 2.0);
    check([&](Inputs v) { return bce_loss(v[0], v[1], {.reduction = reduction}); }, 0.1, 0.9);
    check([&](Inputs v) { return bce_loss(v[0], v[1], {.weight = weight, .reduction = reduction}); }, 0.1, 0.9);
    check([&](Inputs v) { return bce_with_logits(v[0], v[1], {.reduction = reduction}); }, -2.0, 2.0);
    check(
        [&](Inputs v) {
          return bce_with_logits(v[0], v[1], {.weight = weight, .pos_weight = weight, .reduction = reduction});
        },
        -2.0, 2.0);
  }
  for (const KlDivReduction reduction :
       {KlDivReduction::none, KlDivReduction::sum, KlDivReduction::mean, KlDivReduction::batchmean}) {
    check([&](Inputs v) { return kl_div(v[0], v[1], {.reduction = reduction}); }, 0.1, 0.9);
    check([&](Inputs v) { return kl_div(v[0], v[1], {.log_target = true, .reduction = reduction}); }, -2.0, -0.1);
  }
}

BOOST_AUTO_TEST_CASE(gradients_have_the_dtypes_of_their_variables_and_constants_none) {
  const Variable x(from_values<float>({1.0F, 2.0F}), RequiresGrad::yes);
  const Variable y = leaf({0.5, 0.25});
  const Gradients both = backward(mse_loss(x, y));
  BOOST_CHECK(both.of(x).dtype() == DType::f32);
  BOOST_CHECK(both.of(y).dtype() == DType::f64);
  BOOST_TEST(backward(mse_loss(x, y.detach())).size() == 1U);
  BOOST_TEST(backward(mse_loss(x.detach(), y)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_a_loss_needs_must_not_be_written_to) {
  const Variable logits = leaf({1.0, 2.0}, {1, 2});
  Tensor target = classes({0});
  const Variable loss = cross_entropy(logits, target);
  target.fill(1.0);
  BOOST_CHECK_THROW((void)backward(loss), BackwardError);
  Tensor weight = from_values<double>({1.0, 2.0});
  const Variable weighted = bce_with_logits(leaf({1.0, 2.0}), leaf({1.0, 0.0}), {.weight = weight});
  weight.fill(3.0);
  BOOST_CHECK_THROW((void)backward(weighted), BackwardError);
}

BOOST_AUTO_TEST_CASE(targets_of_classes_may_be_variables_without_a_gradient) {
  const Variable logits = leaf({1.0, 2.0, 4.0, 0.0}, {2, 2});
  const Tensor target = classes({0, 1});
  const Variable numbers(target);
  expect(nll_loss(logits, numbers).value(), -0.5);                  // -(1 + 0) / 2
  expect(nll_loss(logits, numbers, Reduction::sum).value(), -1.0);  // -(1 + 0)
  expect(cross_entropy(logits, numbers, Reduction::sum).value(), cross_entropy(logits, target, Reduction::sum).item());
  expect(nll_loss(logits, numbers, {.reduction = Reduction::none}).value(), {-1.0, 0.0});
  expect(nll_loss(logits, numbers, {}).value(), -0.5);
  expect(cross_entropy(logits, numbers, {}).value(), cross_entropy(logits, target, {}).item());
  const Variable teacher = leaf({0.25, 0.75, 0.5, 0.5}, {2, 2});
  expect(cross_entropy(logits, teacher.detach()).value(), cross_entropy(logits, teacher.value()).item());
  expect_throw<ValueError>(
      [&] { (void)cross_entropy(logits, teacher); },
      "[cross_entropy] the target requires a gradient, which this operation does not give: pass target.detach()");
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>(
      [] {
        (void)mse_loss(leaf({1.0}), leaf({1.0, 2.0, 3.0}));
      },
      "[mse_loss] shapes differ: (1) and (3)");
  expect_throw<IndexError>(
      [] {
        (void)cross_entropy(leaf({1.0, 2.0}, {1, 2}), classes({2}));
      },
      "[cross_entropy] index out of range: 2 of 2");
}

BOOST_AUTO_TEST_SUITE_END()
