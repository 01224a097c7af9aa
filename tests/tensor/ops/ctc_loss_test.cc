#include "tensor/ops/ctc_loss.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/nn.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_ctc_loss)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Reduction kNone = Reduction::none;

Tensor numbers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }
Tensor number(std::int64_t value) { return from_values<std::int64_t>({value}, Shape{}); }

/// Returns the sum of the probabilities of all paths of classes that spell `target` when repetitions and blanks are
/// removed.
double probability(const Tensor& probs, const std::vector<std::int64_t>& target, std::int64_t blank) {
  const std::int64_t steps = probs.size(0);
  const std::int64_t classes = probs.size(1);
  double total = 0.0;
  for (std::int64_t path = 0; path < static_cast<std::int64_t>(std::pow(classes, steps)); ++path) {
    std::vector<std::int64_t> spelt;
    std::int64_t last = -1;
    double product = 1.0;
    for (std::int64_t t = 0, rest = path; t < steps; ++t, rest /= classes) {
      const std::int64_t c = rest % classes;
      product *= probs.select(0, t).select(0, c).item();
      if (c != last && c != blank) spelt.push_back(c);
      last = c;
    }
    if (spelt == target) total += product;
  }
  return total;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_target_is_spelt_by_all_paths_with_blanks_and_repetitions) {
  // Two steps spell "1" as 11, 1- and -1: 0.6 0.5 + 0.6 0.5 + 0.4 0.5
  const Tensor log_probs = log(from_values<double>({0.4, 0.6, 0.5, 0.5}, {2, 2}));
  expect_close(ctc_loss(log_probs, numbers({1}), number(2), number(1)), scalar(-std::log(0.8)), 1e-14);
  // "11" needs a blank between; the empty target needs only blanks.
  expect_same(ctc_loss(log_probs, numbers({1, 1}), number(2), number(2)), scalar(kInfinity));
  expect_same(ctc_loss(log_probs, numbers({1, 1}), number(2), number(2), {.zero_infinity = true}), scalar(0.0));
  expect_close(ctc_loss(log_probs, numbers({}), number(2), number(0)), scalar(-std::log(0.2)), 1e-14);
  expect_same(ctc_loss(log_probs, numbers({}), number(0), number(0)), scalar(0.0));
  // Gradient by step 1: 1 - P(blank, 1 | spelled) = 0.6 / 0.8
  const Tensor by = ctc_loss_backward(ones({}, DType::f64), log_probs, numbers({1}), number(2), number(1));
  expect_close(by, from_values<double>({-0.25, -0.75, -0.375, -0.625}, {2, 2}), 1e-14);
}

BOOST_AUTO_TEST_CASE(sums_over_paths_are_those_of_all_paths_one_by_one) {
  Generator g(1);
  const Tensor probs = softmax(randn({5, 3}, g, DType::f64));
  for (const std::vector<std::int64_t>& target :
       {std::vector<std::int64_t>{}, {0}, {2}, {0, 2}, {2, 2}, {0, 0, 2}, {2, 0, 2, 0}}) {
    const Tensor of = from_values<std::int64_t>(target, {std::ssize(target)});
    const Tensor loss =
        ctc_loss(log(probs), of, number(5), number(std::ssize(target)), {.blank = 1, .reduction = kNone});
    expect_close(loss, scalar(-std::log(probability(probs, target, 1))), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(examples_are_padded_or_in_a_row_and_reduced) {
  Generator g(2);
  const Tensor x = log_softmax(randn({6, 3, 4}, g, DType::f64));
  const Tensor steps = numbers({6, 4, 5});
  const Tensor lengths = from_values<std::int32_t>({3, 1, 0});
  const Tensor padded = from_values<std::int64_t>({1, 2, 2, 3, 0, 0, 0, 0, 0}, {3, 3});
  const Tensor each = ctc_loss(x, padded, steps, lengths, {.reduction = kNone});
  BOOST_CHECK_EQUAL(each.shape(), (Shape{3}));
  const MathThreads two(2);
  expect_same(ctc_loss(x, numbers({1, 2, 2, 3}), steps, lengths, {.reduction = kNone}), each);
  for (int n = 0; n < 3; ++n) {
    const Tensor alone = ctc_loss(x.select(1, n).slice(0, 0, steps.select(0, n).item<std::int64_t>()),
                                  padded.select(0, n), steps.select(0, n), lengths.select(0, n), {.reduction = kNone});
    expect_same(alone, each.select(0, n));
  }
  expect_close(ctc_loss(x, padded, steps, lengths, {.reduction = Reduction::sum}), sum(each), 1e-14);
  expect_close(ctc_loss(x, padded, steps, lengths), mean(div(each, from_values<double>({3, 1, 1}))), 1e-14);
  const Tensor turned = x.transpose(0, 2).contiguous().transpose(0, 2);
  expect_same(ctc_loss(turned, padded, steps, lengths), ctc_loss(x, padded, steps, lengths));
  expect_close(ctc_loss(x.to(DType::f32), padded, steps, lengths), ctc_loss(x, padded, steps, lengths).to(DType::f32),
               1e-5);
  BOOST_CHECK(ctc_loss(x.to(DType::f16), padded, steps, lengths).dtype() == DType::f16);
  // Steps after the end of an example have no gradient.
  const Tensor by = ctc_loss_backward(ones({3}, DType::f64), x, padded, steps, lengths, {.reduction = kNone});
  expect_same(by.select(1, 1).slice(0, 4), zeros({2, 4}, DType::f64));
  expect_close(sum(by, 2).select(1, 0), neg(ones({6}, DType::f64)), 1e-13);  // the probabilities of each step sum to 1
  BOOST_CHECK_EQUAL(
      ctc_loss(zeros({4, 0, 3}), zeros({0, 2}, DType::i64), numbers({}), numbers({}), {.reduction = kNone}).numel(), 0);
}

BOOST_AUTO_TEST_CASE(a_log_probability_that_is_nan_makes_the_loss_nan) {
  for (std::int64_t at = 0; at < 6; ++at) {
    Tensor log_probs = log(full({6}, 0.5, DType::f64));
    log_probs.slice(0, at, at + 1).fill(std::nan(""));
    const Tensor x = log_probs.view({3, 2});
    BOOST_CHECK(isnan(ctc_loss(x, numbers({1}), number(3), number(1))).item<bool>());
    const Tensor by = ctc_loss_backward(ones({}, DType::f64), x, numbers({1}), number(3), number(1));
    BOOST_CHECK(all(isnan(by)).item<bool>());
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_spelt_has_no_gradient_if_it_counts_as_0) {
  const Tensor x = log(full({1, 2, 3}, 1.0 / 3.0, DType::f64));
  const Tensor targets = from_values<std::int64_t>({1, 2, 1, 0}, {2, 2});
  const Tensor by = ctc_loss_backward(ones({2}, DType::f64), x, targets, numbers({1, 1}), numbers({2, 1}),
                                      {.reduction = kNone, .zero_infinity = true});
  expect_close(by, from_values<double>({0, 0, 0, 0, -1, 0}, {1, 2, 3}), 1e-14);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  const auto fails = [](const Shape& shape, const Tensor& targets, const Tensor& steps, const Tensor& lengths,
                        const CtcLossOptions& options = {}) {
    (void)ctc_loss(zeros(shape), targets, steps, lengths, options);
  };
  const std::string op = "[ctc_loss] ";
  const Tensor two = numbers({2, 2});
  const Tensor targets = ones({2, 5}, DType::i64);
  expect_error<ShapeError>(op + "log_probs is not (t, n, classes): (2)", [&] { fails({2}, targets, two, two); });
  expect_error<DTypeError>(op + "needs a floating dtype: i64", [&] {
    (void)ctc_loss(zeros({2, 2, 3}, DType::i64), targets, two, two);
  });
  expect_error<ShapeError>(op + "lengths do not fit: (3) and (2) for 2 examples", [&] {
    fails({4, 2, 3}, targets, numbers({1, 1, 1}), two);
  });
  expect_error<ValueError>(op + "7 steps of 5", [&] { fails({5, 2, 3}, targets, numbers({2, 7}), two); });
  expect_error<ValueError>(op + "blank 5 of 5 classes", [&] { fails({4, 2, 5}, targets, two, two, {.blank = 5}); });
  expect_error<ShapeError>(op + "targets (2, 5) do not have the lengths (3, 7)", [&] {
    fails({9, 2, 3}, targets, two, numbers({3, 7}));
  });
  expect_error<ShapeError>(op + "targets (5) do not have the lengths (2, 2)", [&] {
    fails({4, 2, 3}, ones({5}, DType::i64), two, two);
  });
  expect_error<IndexError>(op + "index out of range: 5 of 5", [&] {
    fails({4, 2, 5}, full({2, 2}, 5, DType::i64), two, two);
  });
  expect_error<IndexError>(op + "index out of range: -1 of 9223372036854775807", [&] {
    fails({4, 2, 5}, targets, numbers({-1, 1}), two);
  });
  expect_error<DTypeError>(op + "index is f32, not i64 or i32", [&] { fails({4, 2, 5}, ones({2, 2}), two, two); });
  expect_error<ShapeError>("[ctc_loss_backward] gradient does not fit: (2) for ()", [&] {
    (void)ctc_loss_backward(ones({2}), zeros({4, 2, 3}), targets, two, two);
  });
}

BOOST_AUTO_TEST_SUITE_END()
