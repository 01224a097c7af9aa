#include <cmath>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_reduce)

namespace {

Variable matrix() { return leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}); }

/// A leaf with distinct elements.
Variable filled(const Shape& shape) {
  Generator generator(7);
  return Variable(uniform(shape, -1.0, 1.0, generator, DType::f64), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_gradient_of_a_sum_is_the_same_for_every_summand) {
  const Variable x = matrix();
  expect(sum(x).value(), 21.0);
  expect(backward(sum(x) * 2.0).of(x), {2.0, 2.0, 2.0, 2.0, 2.0, 2.0}, {2, 3});
  expect(sum(x, 0).value(), {5.0, 7.0, 9.0});
  const Variable weights = from_values<double>({1.0, 10.0, 100.0});
  expect(backward(sum(sum(x, 0) * weights)).of(x), {1.0, 10.0, 100.0, 1.0, 10.0, 100.0}, {2, 3});
  expect(sum(x, 1, KeepDim::yes).value(), {6.0, 15.0}, {2, 1});
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_mean_is_shared_out_among_its_elements) {
  const Variable x = matrix();
  expect(mean(x).value(), 3.5);
  expect(backward(mean(x) * 12.0).of(x), {2.0, 2.0, 2.0, 2.0, 2.0, 2.0}, {2, 3});
  expect(mean(x, 1).value(), {2.0, 5.0});
  const Variable weights = from_values<double>({3.0, 30.0});
  expect(backward(sum(mean(x, 1) * weights)).of(x), {1.0, 1.0, 1.0, 10.0, 10.0, 10.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(reductions_agree_with_finite_differences_for_every_choice_of_axes) {
  for (const Axes& axes : {Axes(0), Axes(-1), Axes{0, 2}, Axes{2, 1, 0}}) {
    for (const KeepDim keep : {KeepDim::no, KeepDim::yes}) {
      expect_gradcheck([&](Inputs v) { return exp(sum(v[0], axes, keep)); }, {filled({2, 3, 2})});
      expect_gradcheck([&](Inputs v) { return exp(mean(v[0], axes, keep)); }, {filled({2, 3, 2})});
    }
  }
  expect_gradcheck([](Inputs v) { return sum(transpose(v[0]), 0); }, {filled({2, 3})});
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>([] { (void)sum(matrix(), 2); }, "[sum] dimension out of range: 2 of (2, 3)");
}

BOOST_AUTO_TEST_CASE(each_summand_of_running_sums_counts_from_its_place_on) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  expect(cumsum(x, 1).value(), {1.0, 3.0, 3.0, 7.0}, {2, 2});
  expect_gradcheck([](Inputs v) { return tanh(cumsum(v[0], 0)) * cumsum(v[0], 1); },
                   {leaf({0.1, 0.2, -0.3, 0.4}, {2, 2})});
}

BOOST_AUTO_TEST_CASE(gradients_of_more_reductions_agree_with_finite_differences) {
  const auto x = [] { return leaf({0.3, -0.7, 1.2, 2.0, -1.5, 0.6}, {2, 3}); };
  const double inf = std::numeric_limits<double>::infinity();
  expect_gradcheck([](Inputs v) { return prod(v[0], 1) * prod(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return max(v[0], 0) * min(v[0], 0) + max(v[0]) - min(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return var(v[0], 1) + var(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return stddev(v[0], {0, 1}, 0, KeepDim::yes) * stddev(v[0], 1); }, {x()});
  expect_gradcheck([](Inputs v) { return norm(v[0]) + norm(v[0], 1, 1); }, {x()});
  expect_gradcheck([=](Inputs v) { return norm(v[0], 3, 0) * norm(v[0], inf, 0); }, {x()});
  expect_gradcheck([](Inputs v) { return logsumexp(v[0], 1) * logsumexp(v[0], {0, 1}); }, {x()});
}

BOOST_AUTO_TEST_CASE(gradients_of_var_do_not_depend_on_how_the_mean_is_rounded) {
  const Variable x(from_values<float>({1e8F, 1e8F + 8}), RequiresGrad::yes);
  expect(backward(var(x, 0)).of(x), {-8.0, 8.0});  // 2 (x - mean) / 1
  expect(backward(stddev(x, 0, 0)).of(x), {-0.5, 0.5});
}

BOOST_AUTO_TEST_CASE(squares_beyond_f32_do_not_end_the_gradient_of_stddev) {
  for (const double scale : {1e-23, 1e20}) {
    const Tensor values = mul(from_values<double>({1.0, -1.0, 2.0}), scale);
    const Variable x(values.to(DType::f32), RequiresGrad::yes);
    // The distances from the mean, 1/3, -5/3, 4/3, divided by 2 sqrt(42 / 9 / 2).
    const Tensor expected = from_values<float>({0.10910895F, -0.54554473F, 0.43643578F});
    BOOST_CHECK(allclose(backward(stddev(x)).of(x), expected, 1e-5));
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_of_logsumexp_sums_to_1_however_large_the_elements_are) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double far : {-1e9, 1e9, static_cast<double>(std::numeric_limits<float>::lowest())}) {
    const Variable same(full({2, 2}, far), RequiresGrad::yes);
    BOOST_CHECK(allclose(backward(logsumexp(same, {0, 1})).of(same), full({2, 2}, 0.25), 1e-6));
    const Variable hidden(from_values<double>({far, -inf, far, -inf}, {2, 2}).to(DType::f32), RequiresGrad::yes);
    expect(backward(sum(logsumexp(hidden, 1))).of(hidden), {1.0, 0.0, 1.0, 0.0}, {2, 2});
  }
  const Variable infinite = leaf({inf, 100.0, -inf});
  const Tensor gradient = backward(logsumexp(infinite, 0)).of(infinite);
  BOOST_TEST(std::isnan(gradient.select(0, 0).item()));
  expect(gradient.slice(0, 1), {0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(gradients_where_a_reduction_has_an_edge_are_those_that_are_promised) {
  const Variable x = leaf({3.0, 1.0, 3.0, 2.0});
  expect(backward(max(x)).of(x), {0.5, 0.0, 0.5, 0.0});
  const Variable one_zero = leaf({2.0, 0.0, 5.0});
  expect(backward(prod(one_zero)).of(one_zero), {0.0, 10.0, 0.0});
  const Variable two_zeros = leaf({2.0, 0.0, 0.0});
  expect(backward(prod(two_zeros)).of(two_zeros), {0.0, 0.0, 0.0});
  const Variable same = leaf({4.0, 4.0});
  expect(backward(stddev(same)).of(same), {0.0, 0.0});
  const Variable nothing = leaf({0.0, 0.0});
  expect(backward(norm(nothing)).of(nothing), {0.0, 0.0});
  expect(backward(norm(nothing, 3)).of(nothing), {0.0, 0.0});
  expect(backward(norm(nothing, 0.5)).of(nothing), {0.0, 0.0});
  // (sqrt(1) + sqrt(4))^2 = 9, with the slopes sqrt(9 / 1) and sqrt(9 / 4)
  const Variable some = leaf({0.0, 1.0, -4.0});
  expect(backward(norm(some, 0.5)).of(some), {0.0, 3.0, -1.5});
}

BOOST_AUTO_TEST_CASE(running_products_have_their_gradients_beside_zeros_too) {
  const Variable x = leaf({2.0, 3.0, 4.0});
  expect(cumprod(x, 0).value(), {2.0, 6.0, 24.0});
  expect(gradient_of(x, cumprod(x, 0)), {43.0, 28.0, 18.0});  // 1 + 2*3 + 3*12, 2*2 + 3*8, 3*6
  const Variable zero = leaf({2.0, 0.0, 4.0, 0.0, 5.0});
  // By the first 0: 2*2 + 3*8; later products contain the second 0.
  expect(gradient_of(zero, cumprod(zero, 0)), {1.0, 28.0, 0.0, 0.0, 0.0});
  const std::vector<Variable> with_zeros{leaf({0.5, 0.0, 2.0, 1.5, 3.0, 0.0, 0.0, 2.0, 1.0}, {3, 3})};
  expect_gradcheck([](Inputs v) { return cumprod(v[0], 0) * 0.25; }, with_zeros);
  expect_gradcheck([](Inputs v) { return cumprod(v[0], 1) * 0.25; }, with_zeros);
}

BOOST_AUTO_TEST_CASE(a_product_of_one_factor_passes_its_gradient_on) {
  for (const double value : {0.3, 0.0, std::numeric_limits<double>::infinity()}) {
    const Variable one = leaf(value), two = leaf({value, 5.0}, {2, 1});
    expect(backward(prod(one) * 0.7).of(one), 0.7);
    expect(gradient_of(two, prod(two, 1)), {1.0, 2.0}, {2, 1});
    expect(gradient_of(two, cumprod(two, -1)), {1.0, 2.0}, {2, 1});
  }
}

BOOST_AUTO_TEST_CASE(the_largest_so_far_gets_the_gradient) {
  const Variable x = leaf({2.0, 1.0, 2.0, 3.0});
  expect(cummax(x, 0).values.value(), {2.0, 2.0, 2.0, 3.0});
  expect(cummax(x, 0).indices, {0.0, 0.0, 2.0, 3.0});
  expect(gradient_of(x, cummax(x, 0).values), {3.0, 0.0, 3.0, 4.0});
  expect(gradient_of(x, cummin(x, 0).values), {1.0, 9.0, 0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_norm_beside_an_infinite_element_is_infinite_for_an_order_below_1) {
  const double inf = std::numeric_limits<double>::infinity();
  const Variable x = leaf({1.0, -2.0, inf});
  // norm^(1 - p) / x^(1 - p)
  expect(backward(norm(x, 0.5)).of(x).slice(0, 0, 2), {inf, -inf});
  expect(backward(norm(x, 1.5)).of(x).slice(0, 0, 2), {0.0, 0.0});
  // (1e-36 / 1e10)^(1 / 2 - 1), although the quotient is 0 in f32
  const Variable small(from_values<float>({1e-36F, 1e10F}), RequiresGrad::yes);
  BOOST_TEST(allclose(backward(norm(small, 0.5)).of(small), from_values<float>({1e23F, 1.0F}), 1e-3));
}

BOOST_AUTO_TEST_CASE(a_product_with_an_infinite_factor_or_nan_has_the_products_of_the_others_as_gradient) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  const auto gradient = [](const Variable& x) { return backward(prod(x)).of(x); };
  const auto expect_nan = [](const Tensor& x) { BOOST_TEST(all(isnan(x)).item<bool>()); };
  expect(gradient(leaf({2.0, inf, -3.0})), {-inf, -6.0, inf});
  expect(gradient(leaf({2.0, inf, -inf})), {-inf, -inf, inf});
  for (const double value : {inf, nan}) {
    const Tensor beside_zero = gradient(leaf({2.0, 0.0, value}));
    expect_nan(beside_zero.slice(0, 0, 1));                          // 0 * value
    BOOST_TEST(!isfinite(beside_zero.slice(0, 1, 2)).item<bool>());  // 2 * value
    expect(beside_zero.slice(0, 2), {0.0});
    const Tensor beside_zeros = gradient(leaf({0.0, value, 0.0}));
    expect_nan(beside_zeros.slice(0, 0, 3, 2));
    expect(beside_zeros.slice(0, 1, 2), {0.0});
  }
  // The others of infinity are 2, 3 and 5; those of 11 have the product 7.
  const Variable x = leaf({2.0, 7.0, 3.0, 11.0, inf, 1.0, 5.0, 1.0}, {2, 2, 2});
  expect(gradient_of(x, prod(x, {0, 1})), {inf, 22.0, inf, 14.0, 30.0, 154.0, inf, 154.0}, {2, 2, 2});
}

BOOST_AUTO_TEST_SUITE_END()
