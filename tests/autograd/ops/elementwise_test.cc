#include <array>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_elementwise)

namespace {

/// Checks value and gradient of a function of one number.
void expect_at(const std::function<Variable(const Variable&)>& function, double x, double value, double gradient) {
  const Variable variable = leaf(x);
  const Variable result = function(variable);
  expect(result.value(), value);
  expect(backward(result).of(variable), gradient);
}

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_of_two_variables_has_the_gradients_of_school) {
  const Variable a = leaf({6.0});
  const Variable b = leaf({2.0});
  auto gradients = [&](const Variable& result) {
    const Gradients found = backward(sum(result));
    return std::array<double, 2>{found.of(a).item(), found.of(b).item()};
  };
  expect((a + b).value(), {8.0});
  expect((a - b).value(), {4.0});
  expect((a * b).value(), {12.0});
  expect((a / b).value(), {3.0});
  BOOST_TEST(gradients(a + b) == (std::array{1.0, 1.0}));
  BOOST_TEST(gradients(a - b) == (std::array{1.0, -1.0}));
  BOOST_TEST(gradients(a * b) == (std::array{2.0, 6.0}));
  BOOST_TEST(gradients(a / b) == (std::array{0.5, -1.5}));  // 1/2, -6/4
}

BOOST_AUTO_TEST_CASE(arithmetic_with_numbers_has_the_gradients_of_school) {
  expect_at([](const Variable& x) { return x + 3.0; }, 2.0, 5.0, 1.0);
  expect_at([](const Variable& x) { return 3.0 + x; }, 2.0, 5.0, 1.0);
  expect_at([](const Variable& x) { return x - 3.0; }, 2.0, -1.0, 1.0);
  expect_at([](const Variable& x) { return 3.0 - x; }, 2.0, 1.0, -1.0);
  expect_at([](const Variable& x) { return x * 3.0; }, 2.0, 6.0, 3.0);
  expect_at([](const Variable& x) { return 3.0 * x; }, 2.0, 6.0, 3.0);
  expect_at([](const Variable& x) { return x / 4.0; }, 2.0, 0.5, 0.25);
  expect_at([](const Variable& x) { return 4.0 / x; }, 2.0, 2.0, -1.0);  // -4/x^2
  expect_at([](const Variable& x) { return -x; }, 2.0, -2.0, -1.0);
}

BOOST_AUTO_TEST_CASE(functions_have_their_derivatives) {
  expect_at([](const Variable& x) { return pow(x, 3.0); }, 2.0, 8.0, 12.0);
  expect_at([](const Variable& x) { return pow(x, 0.5); }, 4.0, 2.0, 0.25);
  expect_at([](const Variable& x) { return pow(x, 0.0); }, 0.0, 1.0, 0.0);
  expect_at([](const Variable& x) { return pow(x, 1.0); }, 0.0, 0.0, 1.0);
  expect_at([](const Variable& x) { return exp(x); }, 1.0, std::exp(1.0), std::exp(1.0));
  expect_at([](const Variable& x) { return log(x); }, 4.0, std::log(4.0), 0.25);
  expect_at([](const Variable& x) { return sqrt(x); }, 4.0, 2.0, 0.25);
  expect_at([](const Variable& x) { return tanh(x); }, 0.0, 0.0, 1.0);
  expect_at([](const Variable& x) { return sigmoid(x); }, 0.0, 0.5, 0.25);
  expect_at([](const Variable& x) { return abs(x); }, -3.0, 3.0, -1.0);
  expect_at([](const Variable& x) { return abs(x); }, 0.0, 0.0, 0.0);
  expect_at([](const Variable& x) { return relu(x); }, 3.0, 3.0, 1.0);
  expect_at([](const Variable& x) { return relu(x); }, -3.0, 0.0, 0.0);
  expect_at([](const Variable& x) { return relu(x); }, 0.0, 0.0, 0.0);
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const Shape shape{2, 3};
  auto x = [&] { return leaf({0.3, 1.2, -0.7, 2.0, -1.5, 0.9}, shape); };
  auto positive = [&] { return leaf({0.3, 1.2, 0.7, 2.0, 1.5, 0.9}, shape); };
  expect_gradcheck([](Inputs v) { return v[0] + v[1]; }, {x(), positive()});
  expect_gradcheck([](Inputs v) { return v[0] - v[1]; }, {x(), positive()});
  expect_gradcheck([](Inputs v) { return v[0] * v[1]; }, {x(), positive()});
  expect_gradcheck([](Inputs v) { return v[0] / v[1]; }, {x(), positive()});
  expect_gradcheck([](Inputs v) { return 2.0 / v[0]; }, {positive()});
  expect_gradcheck([](Inputs v) { return pow(v[0], 2.5); }, {positive()});
  expect_gradcheck([](Inputs v) { return exp(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return log(v[0]); }, {positive()});
  expect_gradcheck([](Inputs v) { return sqrt(v[0]); }, {positive()});
  expect_gradcheck([](Inputs v) { return tanh(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return sigmoid(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return relu(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return abs(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return v[0] * v[0] + v[0]; }, {x()});
}

BOOST_AUTO_TEST_CASE(gradients_of_broadcast_operands_have_the_operands_shape) {
  const Variable matrix = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  const Variable row = leaf({10.0, 20.0, 30.0});
  const Gradients gradients = backward(sum(matrix * row));
  expect(gradients.of(matrix), {10.0, 20.0, 30.0, 10.0, 20.0, 30.0}, {2, 3});
  expect(gradients.of(row), {5.0, 7.0, 9.0});  // 1+4, 2+5, 3+6

  auto column = [] { return leaf({0.5, -1.5}, {2, 1}); };
  auto wide = [] { return leaf({1.1, 2.2, 3.3}); };
  expect_gradcheck([](Inputs v) { return v[0] + v[1]; }, {column(), wide()});
  expect_gradcheck([](Inputs v) { return v[0] - v[1]; }, {column(), wide()});
  expect_gradcheck([](Inputs v) { return v[0] * v[1]; }, {column(), wide()});
  expect_gradcheck([](Inputs v) { return v[0] / v[1]; }, {column(), wide()});
  expect_gradcheck([](Inputs v) { return v[0] / v[1]; }, {wide(), leaf(0.7)});
}

BOOST_AUTO_TEST_CASE(layout_does_not_change_gradients) {
  auto x = [] { return leaf({0.3, 1.2, -0.7, 2.0, -1.5, 0.9}, {3, 2}); };
  auto y = [] { return leaf({1.3, 0.2, 0.7, 1.0, 2.5, 0.4}, {2, 3}); };
  expect_gradcheck([](Inputs v) { return transpose(v[0]) * v[1]; }, {x(), y()});
  expect_gradcheck([](Inputs v) { return relu(transpose(v[0])) / v[1]; }, {x(), y()});
  expect_gradcheck([](Inputs v) { return tanh(slice(v[0], 0, 0, 3, 2)); }, {x()});
}

BOOST_AUTO_TEST_CASE(each_gradient_has_the_dtype_of_its_variable) {
  const Variable a(from_values<float>({1.5F, 2.0F}), RequiresGrad::yes);
  const Variable b = leaf({4.0, 8.0});
  const Gradients gradients = backward(sum(a * b));
  BOOST_CHECK(gradients.of(a).dtype() == DType::f32);
  BOOST_CHECK(gradients.of(b).dtype() == DType::f64);
  expect(gradients.of(a), {4.0, 8.0});
  expect(gradients.of(b), {1.5, 2.0});
  const Tensor by_cast = backward(sum(cast(a, DType::f64) * b)).of(a);
  BOOST_CHECK(by_cast.dtype() == DType::f32);
  expect(by_cast, {4.0, 8.0});
  BOOST_CHECK(!cast(a, DType::i64).requires_grad());
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  const Variable a = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  const Variable b = leaf({1.0, 2.0, 3.0, 4.0});
  expect_throw<ShapeError>([&] { (void)(a + b); }, "[add] shapes do not broadcast: (2, 3) and (4)");
  expect_throw<ShapeError>([&] { (void)(a / b); }, "[div] shapes do not broadcast: (2, 3) and (4)");
  expect_throw<TensorError>([&] { (void)(a * Variable()); }, "[value] variable is undefined");
}

BOOST_AUTO_TEST_CASE(gradients_of_more_functions_agree_with_finite_differences) {
  const auto x = [] { return leaf({0.3, 0.7, 1.2, 2.0}, {2, 2}); };
  const auto y = [] { return leaf({0.5, 1.9}); };
  expect_gradcheck([](Inputs v) { return expm1(v[0]) + log1p(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return rsqrt(v[0]) * erf(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return sin(v[0]) * 2.0 + cos(v[0]); }, {x()});
  expect_gradcheck([](Inputs v) { return pow(v[0], v[1]); }, {x(), y()});
  expect_gradcheck([](Inputs v) { return maximum(v[0], v[1]) * minimum(v[0], v[1]); }, {x(), y()});
  expect_gradcheck([](Inputs v) { return clamp(v[0], 0.5, 1.5) * v[0]; }, {x()});
  const Tensor condition = from_values<bool>({true, false}, {2, 1});
  expect_gradcheck([&](Inputs v) { return where(condition, v[0] * v[0], v[1]); }, {x(), y()});
}

BOOST_AUTO_TEST_CASE(functions_with_steps_have_no_gradient_and_their_rest_has_all) {
  const Variable x = leaf({-1.5, 0.0, 2.25});
  using Function = Variable (*)(const Variable&);
  for (const Function f : std::initializer_list<Function>{sign, floor, ceil, round, trunc}) {
    const Variable y = f(x);
    BOOST_TEST(y.requires_grad());
    expect(gradient_of(x, y), {0.0, 0.0, 0.0});
  }
  expect(sign(x).value(), {-1.0, 0.0, 1.0});
  expect(floor(x).value(), {-2.0, 0.0, 2.0});
  expect(ceil(x).value(), {-1.0, 0.0, 3.0});
  expect(round(x).value(), {-2.0, 0.0, 2.0});
  expect(trunc(x).value(), {-1.0, 0.0, 2.0});
  expect(gradient_of(x, frac(x)), {1.0, 2.0, 3.0});
}

BOOST_AUTO_TEST_CASE(squares_and_reciprocals_have_their_derivatives) {
  expect_at([](const Variable& x) { return square(x); }, -3.0, 9.0, -6.0);
  expect_at([](const Variable& x) { return reciprocal(x); }, -2.0, -0.5, -0.25);
  expect_at([](const Variable& x) { return erfc(x); }, 0.0, 1.0, -1.1283791670955126);  // -2 / sqrt(pi)
  expect_gradcheck([](Inputs v) { return square(v[0]) * reciprocal(v[0] + 2.0) * erfc(v[0]); },
                   {leaf({0.3, -0.7, 1.2})});
}

BOOST_AUTO_TEST_CASE(a_limit_takes_the_gradient_of_what_is_beyond_it) {
  const Variable x = leaf({1.0, 2.0, 3.0, std::nan("")});
  expect(gradient_of(x, clamp_min(x, 2.0)), {0.0, 2.0, 3.0, 0.0});
  expect(gradient_of(x, clamp_max(x, 2.0)), {1.0, 2.0, 0.0, 0.0});
  expect(gradient_of(x, clamp(x, 1.5, 2.5)), {0.0, 2.0, 0.0, 0.0});
  const Variable limit = leaf({2.0, 2.0, 2.0, 2.0});
  expect(gradient_of(x, clamp_min(x, limit)), {0.0, 2.0, 3.0, 0.0});
  expect(gradient_of(limit, clamp_min(x, limit)), {1.0, 0.0, 0.0, 0.0});
  expect(gradient_of(x, clamp_max(x, limit)), {1.0, 2.0, 0.0, 0.0});
  expect(gradient_of(limit, clamp_max(x, limit)), {0.0, 0.0, 3.0, 0.0});
}

BOOST_AUTO_TEST_CASE(a_changed_sign_turns_the_gradient) {
  const Variable x = leaf({3.0, -3.0, 0.0, -4.0});
  const Variable signs = leaf({-1.0, 5.0, -1.0, -0.0});
  expect(copysign(x, signs).value(), {-3.0, 3.0, -0.0, -4.0});
  expect(gradient_of(x, copysign(x, signs)), {-1.0, -2.0, 0.0, 4.0});
  expect(gradient_of(signs, copysign(x, signs)), {0.0, 0.0, 0.0, 0.0});
  expect(gradient_of(x, copysign(x, -1.0)), {-1.0, 2.0, 0.0, 4.0});
}

BOOST_AUTO_TEST_CASE(what_was_no_number_gets_no_gradient) {
  const double inf = std::numeric_limits<double>::infinity();
  const Variable x = leaf({2.0, std::nan(""), inf, -inf});
  const Variable y = nan_to_num(x, {.nan = 3.0, .posinf = 4.0, .neginf = 5.0});
  expect(y.value(), {2.0, 3.0, 4.0, 5.0});
  expect(gradient_of(x, y), {1.0, 0.0, 0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(gradients_at_the_edges_are_those_that_are_promised) {
  const Variable x = leaf({1.0, 2.0, 3.0});
  const Variable y = leaf({1.0, 3.0, 2.0});
  const Gradients chosen = backward(sum(maximum(x, y)));
  expect(chosen.of(x), {0.5, 0.0, 1.0});
  expect(chosen.of(y), {0.5, 1.0, 0.0});
  expect(backward(sum(clamp(x, 1.0, 2.0))).of(x), {1.0, 1.0, 0.0});
  const Variable base = leaf({0.0, 0.0, 2.0});
  const Variable exponent = leaf({0.0, 2.0, 0.0});
  const Gradients powers = backward(sum(pow(base, exponent)));
  expect(powers.of(base), {0.0, 0.0, 0.0});
  expect(powers.of(exponent), {0.0, 0.0, 0.6931471805599453});  // 2^0 log 2
  const Variable below = leaf({-1.0, 2.0});
  const double inf = std::numeric_limits<double>::infinity();
  expect(gradient_of(below, pow(leaf({0.0, 2.0}), below)), {-inf, 5.545177444479562});  // 2 * 2^2 log 2
  expect(gradient_of(below, pow(leaf(0.0), below)), {-inf, 0.0});
}

BOOST_AUTO_TEST_CASE(alpha_is_the_gradient_by_the_second_operand) {
  const Variable a = leaf({1.0, 2.0});
  const Variable b = leaf(3.0);
  const Variable sum_of = add(a, b, 0.5);
  expect(sum_of.value(), {2.5, 3.5});
  expect(backward(sum(sum_of)).of(b), 1.0);  // 0.5 of each
  const Gradients less = backward(sum(sub(a, b, 2.0)));
  expect(less.of(a), {1.0, 1.0});
  expect(less.of(b), -4.0);
  expect_gradcheck([](Inputs v) { return sub(v[0], v[1], -1.5) * add(v[0], v[1], 0.25); },
                   {drawn({3, 1}, 1), drawn({2}, 2)});
}

BOOST_AUTO_TEST_CASE(a_scalar_that_gives_way_gets_a_gradient_of_its_own_dtype) {
  const Variable x(from_values<float>({1, 2}), RequiresGrad::yes);
  const Variable scale(scalar(3.0), RequiresGrad::yes);
  const Variable product = x * scale;
  BOOST_CHECK(product.dtype() == DType::f32);
  const Gradients gradients = backward(sum(product));
  BOOST_CHECK(gradients.of(x).dtype() == DType::f32);
  BOOST_CHECK(gradients.of(scale).dtype() == DType::f64);
  expect(gradients.of(scale), 3.0);  // 1 + 2
}

BOOST_AUTO_TEST_CASE(the_larger_and_the_smaller_pass_the_gradient_to_both_where_one_is_nan) {
  const double nan = std::nan("");
  const Variable a = leaf({nan, 1.0, 2.0, 3.0});
  const Variable b = leaf({0.0, nan, 2.0, 1.0});
  // Those of 1, 2, 3 and 4.
  expect(gradient_of(a, maximum(a, b)), {1.0, 2.0, 1.5, 4.0});
  expect(gradient_of(b, maximum(a, b)), {1.0, 2.0, 1.5, 0.0});
  expect(gradient_of(a, minimum(a, b)), {1.0, 2.0, 1.5, 0.0});
  expect(gradient_of(b, minimum(a, b)), {1.0, 2.0, 1.5, 4.0});
}

BOOST_AUTO_TEST_CASE(the_gradient_by_a_divisor_is_finite_where_its_quotient_with_the_upstream_gradient_is_not) {
  const Variable a = leaf({1e-300, 0.0});
  const Variable b = leaf({1e-200, 1e-310});
  const Variable upstream = from_values<double>({1e200, 1.0});
  expect(backward(sum(a / b * upstream)).of(b), {-1e300, 0.0});  // -1e200 * (1e-100 / 1e-200), -1 * (0 / 1e-310)
  const Variable c = leaf(1e-200);
  expect(backward(1e-300 / c * 1e200).of(c), -1e300);
}

BOOST_AUTO_TEST_CASE(the_constant_power_passes_no_gradient_on_whatever_comes) {
  const double inf = std::numeric_limits<double>::infinity();
  const Variable upstream = from_values<double>({inf, std::nan(""), 1.0});
  const Variable x = leaf({1.0, 2.0, 0.0});
  expect(backward(sum(pow(x, 0.0) * upstream)).of(x), {0.0, 0.0, 0.0});
  expect(backward(sum(pow(x, leaf({0.0, 0.0, 0.0})) * upstream)).of(x), {0.0, 0.0, 0.0});
  expect(backward(sum(pow(x, leaf(0.0)) * upstream)).of(x), {0.0, 0.0, 0.0});
}

BOOST_AUTO_TEST_SUITE_END()
