#include "autograd/ops/margin_loss.h"

#include <array>
#include <cmath>
#include <string>

#include "autograd/ops/nn.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_margin_loss)

namespace {

constexpr std::array kReductions{Reduction::none, Reduction::sum, Reduction::mean};

Variable random_leaf(const Shape& shape, std::uint64_t seed, double low = -2.0, double high = 2.0) {
  Generator generator(seed);
  return Variable(uniform(shape, low, high, generator, DType::f64), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(losses_of_distances_agree_with_finite_differences) {
  const Tensor target = from_values<double>({1, -1, -1, 1});
  const Tensor weight = from_values<double>({0.5, 2.0, 1.0});
  for (const Reduction r : kReductions) {
    expect_gradcheck([&](Inputs v) { return margin_ranking_loss(v[0], v[1], target, {.margin = 0.3, .reduction = r}); },
                     {random_leaf({2, 4}, 1), random_leaf({4}, 2)});
    expect_gradcheck([&](Inputs v) { return hinge_embedding_loss(v[0], target, {.margin = 1.5, .reduction = r}); },
                     {random_leaf({3, 4}, 3)});
    expect_gradcheck(
        [&](Inputs v) { return cosine_embedding_loss(v[0], v[1], target, {.margin = 0.1, .reduction = r}); },
        {random_leaf({4, 3}, 4), random_leaf({4, 3}, 5)});
    expect_gradcheck([&](Inputs v) { return soft_margin_loss(v[0], target, r); }, {random_leaf({4}, 6)});
    for (const bool swap : {false, true}) {
      expect_gradcheck(
          [&](Inputs v) {
            return triplet_margin_loss(v[0], v[1], v[2], {.margin = 3.0, .swap = swap, .reduction = r});
          },
          {random_leaf({4, 3}, 7), random_leaf({4, 3}, 8), random_leaf({4, 3}, 9)});
    }
    for (const int p : {1, 2}) {
      expect_gradcheck(
          [&](Inputs v) {
            return multi_margin_loss(v[0], from_values<std::int64_t>({2, 0, 1, 1}),
                                     {.p = p, .weight = weight, .reduction = r});
          },
          {random_leaf({4, 3}, 10)});
    }
    expect_gradcheck(
        [&](Inputs v) {
          return poisson_nll_loss(v[0], from_values<double>({0, 1, 3, 2}), {.full = true, .reduction = r});
        },
        {random_leaf({4}, 11)});
    expect_gradcheck(
        [&](Inputs v) {
          return poisson_nll_loss(v[0], from_values<double>({0, 1, 3, 2}), {.log_input = false, .reduction = r});
        },
        {random_leaf({4}, 12, 0.5, 2.0)});
    for (const Shape& var : {Shape{4, 3}, Shape{4, 1}, Shape{4}}) {
      expect_gradcheck([&](Inputs v) { return gaussian_nll_loss(v[0], v[1], v[2], {.full = true, .reduction = r}); },
                       {random_leaf({4, 3}, 13), random_leaf({4, 3}, 14), random_leaf(var, 15, 0.5, 2.0)});
    }
  }
}

BOOST_AUTO_TEST_CASE(at_a_margin_the_gradient_is_the_one_beside_0) {
  const Variable x = leaf({2.0, 1.0});
  expect(backward(sum(margin_ranking_loss(x, Variable(from_values<double>({1, 1})), ones({2}), {.margin = 1.0}))).of(x),
         {-0.5, -0.5});
  const Variable scores = leaf({0.0, 1.0}, {1, 2});
  expect(backward(multi_margin_loss(scores, from_values<std::int64_t>({1}))).of(scores), {0.0, 0.0}, {1, 2});
}

BOOST_AUTO_TEST_CASE(scores_of_one_sample_take_a_target_of_one_element) {
  const Variable scores = leaf({1.0, 3.0, 2.5});
  for (const Shape& shape : {Shape{}, Shape{1}}) {
    const Variable loss = multi_margin_loss(scores, from_values<std::int64_t>({1}, shape));
    expect(loss.value(), 0.5 / 3.0);  // 1 - 3 + 2.5, over 3 classes
    expect(backward(loss).of(scores), {0.0, -1.0 / 3.0, 1.0 / 3.0});
  }
}

BOOST_AUTO_TEST_CASE(targets_may_be_variables_without_a_gradient) {
  const Variable x = leaf({0.5, -2.0});
  const Variable y = leaf({1.5, 1.0});
  const Tensor sides = from_values<double>({1.0, -1.0});
  const Tensor counts = from_values<double>({2.0, 3.0});
  const Variable points = leaf({1.0, 2.0, 3.0, -1.0}, {2, 2});
  const Variable others = leaf({2.0, 1.0, -1.0, 0.5}, {2, 2});
  const Tensor number = from_values<std::int64_t>({1, 0});
  expect(margin_ranking_loss(x, y, Variable(sides)).value(), margin_ranking_loss(x, y, sides).item());
  expect(hinge_embedding_loss(x, Variable(sides)).value(), hinge_embedding_loss(x, sides).item());
  expect(cosine_embedding_loss(points, others, Variable(sides)).value(),
         cosine_embedding_loss(points, others, sides).item());
  expect(soft_margin_loss(x, Variable(sides)).value(), soft_margin_loss(x, sides).item());
  expect(multi_margin_loss(points, Variable(number)).value(), multi_margin_loss(points, number).item());
  expect(poisson_nll_loss(x, Variable(counts)).value(), poisson_nll_loss(x, counts).item());

  const auto refused = [](const std::string& name) {
    return "[" + name + "] the target requires a gradient, which this operation does not give: pass target.detach()";
  };
  expect_throw<ValueError>([&] { (void)margin_ranking_loss(x, y, x); }, refused("margin_ranking_loss"));
  expect_throw<ValueError>([&] { (void)hinge_embedding_loss(x, y); }, refused("hinge_embedding_loss"));
  expect_throw<ValueError>([&] { (void)cosine_embedding_loss(points, others, y); }, refused("cosine_embedding_loss"));
  expect_throw<ValueError>([&] { (void)soft_margin_loss(x, y); }, refused("soft_margin_loss"));
  expect_throw<ValueError>([&] { (void)poisson_nll_loss(x, y); }, refused("poisson_nll_loss"));
  expect(soft_margin_loss(x, y.detach()).value(), soft_margin_loss(x, y.value()).item());
  const NoGradGuard no_grad;
  expect(soft_margin_loss(x, y).value(), soft_margin_loss(x, y.value()).item());
}

BOOST_AUTO_TEST_CASE(a_variance_below_eps_counts_as_eps_and_learns) {
  const Variable var = leaf({0.0, 2.0});
  const Variable x = leaf({0.5, 3.0});
  const Variable y(from_values<double>({0.0, 1.0}));
  const Variable loss = gaussian_nll_loss(x, y, var, {.eps = 0.25, .reduction = Reduction::sum});
  // (log(1/4) + (1/4) / (1/4) + log(2) + 4 / 2) / 2
  expect(loss.value(), (std::log(0.25) + 1.0 + std::log(2.0) + 2.0) / 2.0);
  // (1/v - d^2 / v^2) / 2
  expect(backward(loss).of(var), {(4.0 - 4.0) / 2.0, (0.5 - 1.0) / 2.0});
  expect(backward(loss).of(x), {2.0, 1.0});  // d / v
}

BOOST_AUTO_TEST_SUITE_END()
