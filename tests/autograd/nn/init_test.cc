#include "autograd/nn/init.h"

#include <cmath>
#include <limits>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_init)

namespace {

double mean_of(const Tensor& x) { return mean(x.to(DType::f64)).item(); }
double std_of(const Tensor& x) { return std::sqrt(mean(pow(x.to(DType::f64) - mean_of(x), 2.0)).item()); }
double largest(const Tensor& x) { return max(abs(x)).item(); }

/// 20,000 numbers: the standard error is std / 141 for a mean and std / 200 for a standard deviation. The tests allow
/// five times as much.
const Shape kMany{100, 200};

void expect_normal(const Tensor& x, double mean, double std) {
  BOOST_TEST(std::abs(mean_of(x) - mean) < 5.0 * std / 141.0, mean_of(x) << " is not " << mean);
  BOOST_TEST(std::abs(std_of(x) - std) < 5.0 * std / 200.0, std_of(x) << " is not " << std);
  // A normal number is within one standard deviation with probability 0.6827; a uniform one with 0.577.
  const double within = mean_of((abs(x - mean) < std).to(DType::f64));
  BOOST_TEST(std::abs(within - 0.6827) < 5.0 * 0.0033);  // sqrt(0.68 * 0.32 / 20000)
}

void expect_uniform(const Tensor& x, double bound) {
  BOOST_TEST(std::abs(mean_of(x)) < 5.0 * bound / std::sqrt(3.0) / 141.0);
  BOOST_TEST(largest(x) <= bound * (1.0 + 1e-6));
  BOOST_TEST(largest(x) > 0.999 * bound);  // all are smaller with probability 0.999^20000
  BOOST_TEST(std::abs(std_of(x) - bound / std::sqrt(3.0)) < bound / 100.0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fans_count_the_receptive_field) {
  BOOST_TEST(nn::fan_in({8, 4, 5, 3}) == 60);    // 4 * 5 * 3
  BOOST_TEST(nn::fan_out({8, 4, 5, 3}) == 120);  // 8 * 5 * 3
  expect_throw<ShapeError>([] { (void)nn::fan_out({3}); }, "[fan_out] a weight has at least 2 dimensions: (3)");
}

BOOST_AUTO_TEST_CASE(gains_are_those_of_the_nonlinearities) {
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::linear) == 1.0);
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::sigmoid) == 1.0);
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::tanh) == 5.0 / 3.0);
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::relu) == std::sqrt(2.0));
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::leaky_relu, 1.0) == 1.0);  // sqrt(2 / (1 + 1))
  BOOST_TEST(nn::gain_of(nn::Nonlinearity::selu) == 0.75);
}

BOOST_AUTO_TEST_CASE(xavier_values_have_the_spread_of_both_fans) {
  Generator generator(1);
  expect_uniform(nn::xavier_uniform(kMany, generator), std::sqrt(0.02));  // sqrt(6 / 300)
  expect_uniform(nn::xavier_uniform(kMany, generator, 3.0), 3.0 * std::sqrt(0.02));
  expect_normal(nn::xavier_normal(kMany, generator), 0.0, std::sqrt(2.0 / 300.0));
}

BOOST_AUTO_TEST_CASE(kaiming_values_have_the_spread_of_one_fan) {
  Generator generator(2);
  expect_uniform(nn::kaiming_uniform(kMany, generator), std::sqrt(0.03));                         // sqrt(2 * 3 / 200)
  expect_uniform(nn::kaiming_uniform(kMany, generator, {.fan = nn::Fan::out}), std::sqrt(0.06));  // sqrt(2 * 3 / 100)
  expect_normal(nn::kaiming_normal(kMany, generator), 0.0, 0.1);                                  // sqrt(2 / 200)
  expect_normal(nn::kaiming_normal(kMany, generator, {.slope = 1.0}), 0.0, std::sqrt(0.005));     // sqrt(1 / 200)
  const nn::KaimingOptions by_tanh{.nonlinearity = nn::Nonlinearity::tanh};
  expect_normal(nn::kaiming_normal(kMany, generator, by_tanh), 0.0, 5.0 / 3.0 / std::sqrt(200.0));
}

BOOST_AUTO_TEST_CASE(orthogonal_rows_or_columns_have_length_gain) {
  Generator generator(3);
  const Tensor wide = nn::orthogonal({70, 90}, generator, 2.0, DType::f64);  // more rows than one block
  BOOST_CHECK(allclose(matmul(wide, wide.transpose()), eye(70, DType::f64) * 4.0, 0.0, 1e-13));
  const Tensor tall = nn::orthogonal({8, 3, 2}, generator, 1.0, DType::f64);
  const Tensor columns = tall.view({8, 6});
  BOOST_CHECK(allclose(matmul(columns.transpose(), columns), eye(6, DType::f64), 0.0, 1e-14));
  const Tensor square = nn::orthogonal({40, 40}, generator);
  BOOST_CHECK(square.dtype() == DType::f32);
  BOOST_CHECK(allclose(matmul(square, square.transpose()), eye(40), 0.0, 1e-5));
  BOOST_CHECK(nn::orthogonal({0, 3}, generator).shape() == (Shape{0, 3}));
  expect_throw<ShapeError>([&] { (void)nn::orthogonal({3}, generator); },
                           "[orthogonal] a weight has at least 2 dimensions: (3)");
}

BOOST_AUTO_TEST_CASE(an_orthogonal_matrix_favours_no_direction) {
  Generator generator(4);
  double sum_of_first = 0.0;
  double squares = 0.0;
  for (int i = 0; i < 2000; ++i) {
    const double x = nn::orthogonal({3, 3}, generator, 1.0, DType::f64).select(0, 2).select(0, 0).item();
    sum_of_first += x;
    squares += x * x;
  }
  BOOST_TEST(std::abs(sum_of_first / 2000.0) < 0.065);         // 5 * sqrt(1/3 / 2000)
  BOOST_TEST(std::abs(squares / 2000.0 - 1.0 / 3.0) < 0.034);  // 5 * sqrt(4/45 / 2000)
}

BOOST_AUTO_TEST_CASE(truncated_normal_values_stay_inside_and_have_the_right_spread) {
  Generator generator(5);
  const Tensor usual = nn::trunc_normal(kMany, generator, {.mean = 1.0, .std = 0.5, .low = 0.0, .high = 2.0});
  BOOST_TEST(largest(usual - 1.0) <= 1.0);
  BOOST_TEST(std::abs(mean_of(usual) - 1.0) < 0.016);           // 5 * 0.44 / 141
  BOOST_TEST(std::abs(std_of(usual) - 0.5 * 0.87963) < 0.011);  // variance 1 - 4 phi(2) / (2 Phi(2) - 1) = 0.77374
  const Tensor lopsided = nn::trunc_normal(kMany, generator, {.low = 0.0, .high = 10.0});
  BOOST_TEST(min(lopsided).item() >= 0.0);
  BOOST_TEST(std::abs(mean_of(lopsided) - std::sqrt(2.0 / 3.14159265)) < 0.022);  // 5 * 0.603 / 141
}

BOOST_AUTO_TEST_CASE(a_truncated_normal_far_from_its_mean_is_drawn_as_well) {
  Generator generator(6);
  // Beyond 5 the mean of a normal number is phi(5) / Phi(-5) = 5.18650 and its deviation 0.1796.
  const Tensor tail = nn::trunc_normal(kMany, generator, {.low = 5.0, .high = 1000.0}, DType::f64);
  BOOST_TEST(min(tail).item() >= 5.0);
  BOOST_TEST(std::abs(mean_of(tail) - 5.18650) < 0.0064);  // 5 * 0.18 / 141
  const Tensor other = nn::trunc_normal(kMany, generator, {.low = -1000.0, .high = -5.0}, DType::f64);
  BOOST_TEST(std::abs(mean_of(other) + 5.18650) < 0.0064);
  const Tensor narrow = nn::trunc_normal(kMany, generator, {.low = -0.01, .high = 0.01}, DType::f64);
  BOOST_TEST(std::abs(std_of(narrow) - 0.01 / std::sqrt(3.0)) < 0.0001);
}

BOOST_AUTO_TEST_CASE(truncations_of_nothing_are_refused) {
  Generator generator(7);
  expect_throw<ValueError>([&] { (void)nn::trunc_normal({1}, generator, {.std = 0.0}); },
                           "[trunc_normal] std is not above 0: 0");
  expect_throw<ValueError>([&] { (void)nn::trunc_normal({1}, generator, {.low = 2.0, .high = 2.0}); },
                           "[trunc_normal] low is not below high: 2, 2");
  constexpr double kInf = std::numeric_limits<double>::infinity();
  expect_throw<ValueError>([&] { (void)nn::trunc_normal({1}, generator, {.mean = std::nan("")}); },
                           "[trunc_normal] mean or std is not finite: nan, 1");
  expect_throw<ValueError>([&] { (void)nn::trunc_normal({1}, generator, {.std = kInf}); },
                           "[trunc_normal] mean or std is not finite: 0, inf");
  expect_throw<ValueError>([&] { (void)nn::trunc_normal({1}, generator, {.mean = 1e200}); },
                           "[trunc_normal] low ... high is too far from the mean: -2 ... 2, 1e+200");
  BOOST_TEST(min(nn::trunc_normal({10}, generator, {.low = 100.0, .high = kInf})).item() >= 100.0);
}

BOOST_AUTO_TEST_CASE(a_leaf_gets_a_first_value_of_its_own_shape_and_dtype) {
  const Variable w(zeros(kMany, DType::f64), RequiresGrad::yes);
  Generator generator(8);
  nn::normal_(w, 3.0, 0.5, generator);
  expect_normal(w.value(), 3.0, 0.5);
  nn::uniform_(w, 2.0, 4.0, generator);
  expect_uniform(w.value() - 3.0, 1.0);
  nn::constant_(w, 2.5);
  BOOST_CHECK(same_bytes(w.value(), full(kMany, 2.5, DType::f64)));
  nn::ones_(w);
  BOOST_CHECK(same_bytes(w.value(), ones(kMany, DType::f64)));
  nn::zeros_(w);
  BOOST_CHECK(same_bytes(w.value(), zeros(kMany, DType::f64)));
  BOOST_CHECK(w.requires_grad());
}

BOOST_AUTO_TEST_CASE(the_form_for_leaves_draws_what_the_form_for_shapes_does) {
  const Variable w(zeros({4, 3}, DType::bf16), RequiresGrad::yes);
  const auto expect_equal = [&](const auto& in_place, const auto& made) {
    Generator a(9);
    Generator b(9);
    in_place(a);
    BOOST_CHECK(same_bytes(w.value(), made(b)));
    BOOST_CHECK(a == b);
  };
  const Shape shape{4, 3};
  expect_equal([&](Generator& g) { nn::xavier_uniform_(w, g, 2.0); },
               [&](Generator& g) { return nn::xavier_uniform(shape, g, 2.0, DType::bf16); });
  expect_equal([&](Generator& g) { nn::xavier_normal_(w, g, 2.0); },
               [&](Generator& g) { return nn::xavier_normal(shape, g, 2.0, DType::bf16); });
  expect_equal([&](Generator& g) { nn::kaiming_uniform_(w, g, {.slope = 0.2}); },
               [&](Generator& g) { return nn::kaiming_uniform(shape, g, {.slope = 0.2}, DType::bf16); });
  expect_equal([&](Generator& g) { nn::kaiming_normal_(w, g, {.slope = 0.2}); },
               [&](Generator& g) { return nn::kaiming_normal(shape, g, {.slope = 0.2}, DType::bf16); });
  expect_equal([&](Generator& g) { nn::orthogonal_(w, g, 2.0); },
               [&](Generator& g) { return nn::orthogonal(shape, g, 2.0, DType::bf16); });
  expect_equal([&](Generator& g) { nn::trunc_normal_(w, g, {.std = 2.0}); },
               [&](Generator& g) { return nn::trunc_normal(shape, g, {.std = 2.0}, DType::bf16); });
}

BOOST_AUTO_TEST_SUITE_END()
