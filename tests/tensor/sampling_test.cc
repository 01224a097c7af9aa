#include "tensor/sampling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(sampling)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kDraws = 20000;

/// Fails unless the frequency of each number among the `draws` matches its probability, within five standard deviations
/// of a binomial count, sqrt(n p (1 - p)).
void expect_shares(const Tensor& draws, const std::vector<double>& probabilities) {
  const auto n = static_cast<double>(draws.numel());
  double counted = 0.0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double p = probabilities[i];
    const double count = sum(eq(draws, static_cast<double>(i))).item();
    BOOST_TEST_CONTEXT("number " << i << " came " << count << " times of " << n << ", with probability " << p) {
      BOOST_CHECK(std::abs(count - n * p) <= 5.0 * std::sqrt(n * p * (1.0 - p)));
    }
    counted += count;
  }
  BOOST_CHECK_EQUAL(counted, n);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bernoulli_gives_ones_as_often_as_its_probability_says) {
  Generator g(1);
  const Tensor x = bernoulli({100, 200}, 0.3, g);
  BOOST_CHECK_EQUAL(x.shape(), (Shape{100, 200}));
  BOOST_CHECK(x.dtype() == DType::f32);
  expect_shares(x, {0.7, 0.3});
  const Tensor each = from_values<double>({0.0, 0.25, 0.9, 1.0}).expand({kDraws, 4});
  const Tensor drawn = bernoulli(each, g);
  BOOST_CHECK(drawn.dtype() == DType::f64);
  expect_shares(drawn.select(1, 0), {1.0, 0.0});
  expect_shares(drawn.select(1, 1), {0.75, 0.25});
  expect_shares(drawn.select(1, 2), {0.1, 0.9});
  expect_shares(drawn.select(1, 3), {0.0, 1.0});
}

BOOST_AUTO_TEST_CASE(element_i_of_bernoulli_is_whether_draw_i_is_below_its_probability) {
  Generator g(2);
  Generator same(2);
  const Tensor x = bernoulli({5}, 0.5, g, DType::boolean);
  expect_same(x, lt(rand({5}, same, DType::f64), 0.5));
  BOOST_CHECK(g == same);
  const Tensor p = from_values<float>({0.5, 0.25, 0.75, 0.125, 1, 0}, {2, 3}).transpose();
  expect_same(bernoulli(p, g), lt(rand({3, 2}, same, DType::f64), p).to(DType::f32));
  expect_same(bernoulli({3}, 0.0, g, DType::i64), zeros({3}, DType::i64));
  expect_same(bernoulli({3}, 1.0, g, DType::u8), ones({3}, DType::u8));
  expect_same(bernoulli(zeros({0, 2}, DType::bf16), g), zeros({0, 2}, DType::bf16));
  for (const DType dtype : kDTypesOf16BitFloats) {
    Generator a(3);
    Generator b(3);
    expect_same(bernoulli(full({50}, 0.5, dtype), a), bernoulli({50}, 0.5, b, dtype));
  }
}

BOOST_AUTO_TEST_CASE(bernoulli_names_what_is_no_probability) {
  Generator g(1);
  expect_error<ValueError>("[bernoulli] probability outside [0, 1]: 1.5", [&] { (void)bernoulli({1}, 1.5, g); });
  expect_error<ValueError>("[bernoulli] probability outside [0, 1]: nan", [&] { (void)bernoulli({0}, kNaN, g); });
  expect_error<ValueError>("[bernoulli] probability outside [0, 1]: -0.5", [&] {
    (void)bernoulli(from_values<float>({0.5, -0.5}), g);
  });
  expect_error<DTypeError>("[bernoulli] needs a floating dtype: i64",
                           [&] { (void)bernoulli(ones({1}, DType::i64), g); });
  expect_error<TensorError>("[bernoulli] tensor is undefined", [&] { (void)bernoulli(Tensor(), g); });
  BOOST_CHECK(g == Generator(1));
}

BOOST_AUTO_TEST_CASE(multinomial_draws_each_index_as_often_as_its_weight_says) {
  Generator g(4);
  const Tensor weights = from_values<float>({1, 0, 3, 4, 2, 2, 0, 0}, {2, 4});
  const Tensor drawn = multinomial(weights, kDraws, g, Replacement::yes);
  BOOST_CHECK_EQUAL(drawn.shape(), (Shape{2, kDraws}));
  BOOST_CHECK(drawn.dtype() == DType::i64);
  expect_shares(drawn.select(0, 0), {0.125, 0.0, 0.375, 0.5});
  expect_shares(drawn.select(0, 1), {0.5, 0.5, 0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(what_multinomial_drew_without_replacement_is_out_of_the_next_draws) {
  Generator g(5);
  const Tensor weights = from_values<double>({1, 2, 0, 5}).expand({kDraws, 4});
  const Tensor drawn = multinomial(weights, 3, g);
  const Tensor first = drawn.select(1, 0);
  const Tensor second = drawn.select(1, 1);
  expect_shares(first, {1.0 / 8, 2.0 / 8, 0.0, 5.0 / 8});
  // p_j p_i / (1 - p_j) summed over all j that may be the first draw: 2/8 * 1/6 + 5/8 * 1/3, ...
  expect_shares(second, {1.0 / 24 + 5.0 / 24, 1.0 / 8 * 2 / 7 + 5.0 / 12, 0.0, 1.0 / 8 * 5 / 7 + 2.0 / 8 * 5 / 6});
  BOOST_CHECK(all(eq(sum(drawn, {1}), 4.0)).item<bool>());  // 0 + 1 + 3 in some order
  BOOST_CHECK(!any(eq(first, second)).item<bool>());
}

BOOST_AUTO_TEST_CASE(multinomial_takes_weights_of_any_size_and_dtype) {
  Generator g(6);
  const Tensor tiny = from_values<double>({5e-324, 0.0, 5e-324, 0.0});
  for (const Replacement replacement : {Replacement::no, Replacement::yes}) {
    const Tensor drawn = multinomial(tiny.expand({2000, 4}), 1, g, replacement).squeeze(1);
    expect_shares(drawn, {0.5, 0.0, 0.5, 0.0});
    const Tensor huge = from_values<double>({1e308, 1e308, 1e-308});  // their sum is infinite
    expect_shares(multinomial(huge.expand({2000, 3}), 1, g, replacement), {0.5, 0.5, 0.0});
    BOOST_CHECK_EQUAL(multinomial(ones({0, 3}), 2, g, replacement).shape(), (Shape{0, 2}));
    BOOST_CHECK_EQUAL(multinomial(ones({2, 3}), 0, g, replacement).shape(), (Shape{2, 0}));
  }
  for (const DType dtype : kDTypes) {
    Generator a(7);
    Generator b(7);
    const Tensor zero_one = from_values<double>({0, 1, 1, 1, 1, 1}, {3, 2});
    expect_same(multinomial(zero_one.to(dtype).transpose(), 2, a), multinomial(zero_one.transpose().clone(), 2, b));
  }
}

BOOST_AUTO_TEST_CASE(multinomial_names_what_is_no_weight) {
  Generator g(1);
  const auto draw = [&](std::initializer_list<double> weights, std::int64_t count, Replacement replacement) {
    (void)multinomial(from_values<double>(weights), count, g, replacement);
  };
  for (const Replacement replacement : {Replacement::no, Replacement::yes}) {
    const auto refuses = [&](std::string_view text, std::initializer_list<double> weights) {
      expect_error<ValueError>(text, [&] { draw(weights, 1, replacement); });
    };
    refuses("[multinomial] weight is not a number from 0 on: -0.5", {1.0, -0.5});
    refuses("[multinomial] weight is not a number from 0 on: nan", {kNaN, 1.0});
    refuses("[multinomial] weight is not a number from 0 on: inf", {1.0, kInfinity});
    refuses("[multinomial] all weights are 0: row 0", {0.0, 0.0});
    refuses("[multinomial] all weights are 0: row 0", {});
    expect_error<ValueError>("[multinomial] negative count: -1", [&] { draw({1.0}, -1, replacement); });
  }
  expect_error<ValueError>("[multinomial] 3 draws from 2 weights above 0: row 0", [&] {
    draw({1.0, 0.0, 2.0}, 3, Replacement::no);
  });
  expect_error<ValueError>("[multinomial] all weights are 0: row 1", [&] {
    (void)multinomial(from_values<float>({1, 1, 0, 0}, {2, 2}), 1, g);
  });
  expect_error<ShapeError>("[multinomial] weights are not (c) or (rows, c): (2, 3, 4)", [&] {
    (void)multinomial(ones({2, 3, 4}), 1, g);
  });
  expect_error<ShapeError>("[multinomial] weights are not (c) or (rows, c): ()",
                           [&] { (void)multinomial(ones({}), 1, g); });
  expect_error<TensorError>("[multinomial] tensor is undefined", [&] { (void)multinomial(Tensor(), 1, g); });
  BOOST_CHECK(g == Generator(1));
}

BOOST_AUTO_TEST_CASE(categorical_draws_with_the_probabilities_of_softmax) {
  Generator g(8);
  // Their exponentials are 1 : 2 : 0 : 5 in the first row. In the second, only 1 and 2 do not underflow beside 1000.
  const Tensor logits =
      from_values<double>({0.0, std::log(2.0), -kInfinity, std::log(5.0), -1000.0, 1000.0, 1000.0, 0.0}, {2, 4});
  const Tensor drawn = categorical(logits.expand({kDraws, 2, 4}), g);
  BOOST_CHECK_EQUAL(drawn.shape(), (Shape{kDraws, 2}));
  BOOST_CHECK(drawn.dtype() == DType::i64);
  expect_shares(drawn.select(1, 0), {0.125, 0.25, 0.0, 0.625});
  expect_shares(drawn.select(1, 1), {0.0, 0.5, 0.5, 0.0});
}

BOOST_AUTO_TEST_CASE(categorical_takes_one_draw_for_each_line_in_order) {
  Generator g(9);
  Generator same(9);
  const Tensor logits = zeros({2, 3, 4}, DType::f32).transpose(0, 2);  // 4 x 3 rows of two equal classes
  const Tensor expected = ge(rand({4, 3}, same, DType::f64), 0.5).to(DType::i64);
  expect_same(categorical(logits, g), expected);
  BOOST_CHECK(g == same);
  expect_same(categorical(zeros({1}), g), zeros({}, DType::i64));
  expect_same(categorical(zeros({0, 3}), g), zeros({0}, DType::i64));
  for (const DType dtype : kDTypesOf16BitFloats) {
    Generator a(3);
    Generator b(3);
    const Tensor x = randn({50, 4}, g, dtype);
    expect_same(categorical(x, a), categorical(x.to(DType::f64), b));
  }
}

BOOST_AUTO_TEST_CASE(categorical_names_what_is_no_logit) {
  Generator g(1);
  const auto draw = [&](std::initializer_list<double> logits, const Shape& shape) {
    (void)categorical(from_values<double>(logits, shape), g);
  };
  expect_error<ValueError>("[categorical] logit is not a number below infinity: nan", [&] { draw({0.0, kNaN}, {2}); });
  expect_error<ValueError>("[categorical] logit is not a number below infinity: inf", [&] {
    draw({kInfinity, 0.0}, {2});
  });
  expect_error<ValueError>("[categorical] all logits are -inf: line 1", [&] { draw({0.0, -kInfinity}, {2, 1}); });
  expect_error<ShapeError>("[categorical] no classes: (2, 0)", [&] { draw({}, {2, 0}); });
  expect_error<ShapeError>("[categorical] no classes: ()", [&] { draw({1.0}, {}); });
  expect_error<TensorError>("[categorical] tensor is undefined", [&] { (void)categorical(Tensor(), g); });
  BOOST_CHECK(g == Generator(1));
}

BOOST_AUTO_TEST_SUITE_END()
