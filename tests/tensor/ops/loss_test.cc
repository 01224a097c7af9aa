#include "tensor/ops/loss.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/class_loss.h"
#include "tensor/ops/nn.h"
#include "tests/support/said_to_be_on.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_loss)

namespace {

constexpr std::array kReductions{Reduction::none, Reduction::sum, Reduction::mean};

Tensor classes(std::initializer_list<std::int64_t> numbers) { return from_values<std::int64_t>(numbers); }

/// Returns logits of the probabilities 1/8, 2/8 and 5/8.
Tensor logits() { return log(from_values<double>({1, 2, 5}, {1, 3})); }
const double kLog8 = std::log(0.125);
const double kLog4 = std::log(0.25);
const double kLog58 = std::log(0.625);

void expect_value(const Tensor& got, double expected) { expect_close(got, scalar(expected), 1e-14, 1e-15); }

/// Each loss of pairs, for elements that are probabilities.
const std::vector<std::function<Tensor(const Tensor&, const Tensor&, Reduction)>> kPairLosses{
    [](const Tensor& x, const Tensor& y, Reduction r) { return mse_loss(x, y, r); },
    [](const Tensor& x, const Tensor& y, Reduction r) { return l1_loss(x, y, r); },
    [](const Tensor& x, const Tensor& y, Reduction r) { return smooth_l1_loss(x, y, {.beta = 0.5, .reduction = r}); },
    [](const Tensor& x, const Tensor& y, Reduction r) { return huber_loss(x, y, {.delta = 0.5, .reduction = r}); },
    [](const Tensor& x, const Tensor& y, Reduction r) { return bce_loss(x, y, {.reduction = r}); },
    [](const Tensor& x, const Tensor& y, Reduction r) { return bce_with_logits(x, y, {.reduction = r}); },
    [](const Tensor& x, const Tensor& y, Reduction r) {
      return kl_div(x, y, {.reduction = static_cast<KlDivReduction>(r)});
    },
    [](const Tensor& x, const Tensor& y, Reduction r) {
      return kl_div(x, y, {.log_target = true, .reduction = static_cast<KlDivReduction>(r)});
    },
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_gradient_has_the_shape_of_the_loss) {
  const detail::ClassLoss averaged("nll_loss", ones({2, 3}), classes({1, 2}), {});
  expect_error<ShapeError>("[nll_loss_backward] gradient does not fit: (3) for ()",
                           [&] { (void)averaged.nll_backward(ones({3})); });
  const detail::ClassLoss each("nll_loss", ones({2, 3}), classes({1, 2}), {.reduction = Reduction::none});
  expect_error<ShapeError>("[nll_loss_backward] gradient does not fit: () for (2)",
                           [&] { (void)each.nll_backward(ones({})); });
}

BOOST_AUTO_TEST_CASE(nll_loss_picks_sums_and_averages) {
  const Tensor x = from_values<float>({-1, -2, -3, -4, -5, -6}, {2, 3});
  const Tensor target = classes({2, 0});
  expect_same(nll_loss(x, target, Reduction::none), from_values<float>({3, 4}));
  expect_same(nll_loss(x, target, Reduction::sum), scalar(7.0F));
  expect_same(nll_loss(x, target), scalar(3.5F));
  expect_same(nll_loss(x.to(DType::f64), target.to(DType::i32)), scalar(3.5));
  expect_same(nll_loss(x.transpose().contiguous().transpose(), target), scalar(3.5F));
  // One example without a batch dimension, and one loss per position.
  expect_same(nll_loss(x.select(0, 0), scalar(std::int64_t{1})), scalar(2.0F));
  expect_same(nll_loss(x.view({1, 2, 3}), from_values<std::int64_t>({0, 1, 0}, {1, 3}), Reduction::none),
              from_values<float>({1, 5, 3}, {1, 3}));
}

BOOST_AUTO_TEST_CASE(classes_count_what_they_weigh_and_ignored_ones_nothing) {
  const Tensor x = from_values<float>({-1, -2, -3, -4, -5, -6}, {2, 3});
  const Tensor target = classes({2, 0});
  const Tensor weight = from_values<float>({1, 2, 10});
  expect_same(nll_loss(x, target, {.weight = weight, .reduction = Reduction::none}), from_values<float>({30, 4}));
  expect_close(nll_loss(x, target, {.weight = weight}), scalar(34.0F / 11.0F), 1e-7);  // (10*3 + 1*4) / (10 + 1)
  expect_same(nll_loss(x, target, {.ignore_index = 2, .reduction = Reduction::none}), from_values<float>({0, 4}));
  expect_same(nll_loss(x, target, {.ignore_index = 2}), scalar(4.0F));
  expect_same(nll_loss(x, classes({-100, 1})), scalar(5.0F));
  BOOST_CHECK(std::isnan(nll_loss(x, classes({-100, -100})).item()));
  expect_same(nll_loss(x, classes({-100, -100}), Reduction::sum), scalar(0.0F));
}

BOOST_AUTO_TEST_CASE(cross_entropy_gives_the_hand_values) {
  expect_value(cross_entropy(logits(), classes({2})), -kLog58);
  // 0.7 for the target class, 0.1 for every class
  const CrossEntropyOptions smooth{.label_smoothing = 0.3};
  expect_value(cross_entropy(logits(), classes({2}), smooth), -(0.7 * kLog58 + 0.1 * (kLog8 + kLog4 + kLog58)));
  const Tensor weight = from_values<double>({2, 3, 4});
  expect_value(
      cross_entropy(logits(), classes({2}), {.weight = weight, .reduction = Reduction::sum, .label_smoothing = 0.3}),
      -(0.7 * 4 * kLog58 + 0.1 * (2 * kLog8 + 3 * kLog4 + 4 * kLog58)));
  expect_value(cross_entropy(logits(), classes({2}), {.weight = weight}), -kLog58);  // -4 log(5/8) / 4
  expect_value(cross_entropy(logits().select(0, 0), scalar(std::int64_t{0})), -kLog8);
  // Probabilities 1/4 and 3/4 as targets, smoothed by 0.3 to 0.275, 0.625 and 0.1.
  const Tensor wanted = from_values<double>({0.25, 0.75, 0}, {1, 3});
  expect_value(cross_entropy(logits(), wanted), -(0.25 * kLog8 + 0.75 * kLog4));
  expect_value(cross_entropy(logits(), wanted, smooth), -(0.275 * kLog8 + 0.625 * kLog4 + 0.1 * kLog58));
  expect_value(cross_entropy(logits(), wanted, {.weight = weight}), -(0.25 * 2 * kLog8 + 0.75 * 3 * kLog4));
  // Neither exponential overflows.
  expect_close(cross_entropy(from_values<float>({1000, 0, 1000, 0}, {2, 2}), classes({0, 1}), Reduction::none),
               from_values<float>({0, 1000}), 0.0);
}

BOOST_AUTO_TEST_CASE(cross_entropy_is_nll_loss_of_log_softmax) {
  Generator g(1);
  for (const Shape& shape : {Shape{7}, Shape{4, 1}, Shape{5, 300}, Shape{2, 33, 3}, Shape{2, 3, 4, 5}}) {
    const int dim = shape.size() == 1 ? 0 : 1;
    const Tensor x = mul(randn(shape, g, DType::f64), 3.0);
    Shape of_target = shape;
    of_target.erase(dim);
    Tensor target = randint(0, shape[dim], of_target, g);
    const Tensor weight = uniform({shape[dim]}, 0.5, 2.0, g, DType::f64);
    for (const Reduction reduction : kReductions) {
      expect_close(cross_entropy(x, target, reduction), nll_loss(log_softmax(x, dim), target, reduction), 1e-12);
      const std::int64_t ignored = target.reshape({target.numel()}).select(0, 0).item<std::int64_t>();
      if (target.numel() > 1 && shape[dim] > 1) {
        expect_close(
            cross_entropy(x, target, {.weight = weight, .ignore_index = ignored, .reduction = reduction}),
            nll_loss(log_softmax(x, dim), target, {.weight = weight, .ignore_index = ignored, .reduction = reduction}),
            1e-12);
      }
      // A target with probability 1 for one class equals that class number.
      const int last = shape.size() - 1;
      Tensor certain = one_hot(target, shape[dim], DType::f64);
      for (int d = last; d > dim; --d) certain = certain.transpose(d - 1, d);
      expect_close(cross_entropy(x, certain, {.reduction = reduction, .label_smoothing = 0.2}),
                   cross_entropy(x, target, {.reduction = reduction, .label_smoothing = 0.2}), 1e-12);
    }
    expect_close(cross_entropy(x.to(DType::f32), target), cross_entropy(x, target).to(DType::f32), 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(losses_of_pairs_give_the_hand_values) {
  const Tensor x = from_values<double>({1, 4});
  const Tensor y = from_values<double>({3, 1});
  const auto each = [](double a, double b) { return from_values<double>({a, b}); };
  expect_same(mse_loss(x, y, Reduction::none), each(4, 9));
  expect_same(mse_loss(x, y), scalar(6.5));
  expect_same(mse_loss(x, y, Reduction::sum), scalar(13.0));
  expect_same(l1_loss(x, y, Reduction::none), each(2, 3));
  // 2^2 / 5, 3 - 1.25
  expect_close(smooth_l1_loss(x, y, {.beta = 2.5, .reduction = Reduction::none}), each(0.8, 1.75), 1e-15);
  expect_same(smooth_l1_loss(x, y, {.beta = 0.0, .reduction = Reduction::none}), each(2, 3));
  // 2^2 / 2, 2.5 (3 - 1.25)
  expect_same(huber_loss(x, y, {.delta = 2.5, .reduction = Reduction::none}), each(2, 4.375));

  const Tensor p = from_values<double>({0.25, 0.5});
  const Tensor q = from_values<double>({1, 0.5});
  expect_close(bce_loss(p, q, {.reduction = Reduction::none}), each(-kLog4, std::log(2.0)), 1e-15);
  expect_close(bce_loss(p, q, {.weight = each(2, 3), .reduction = Reduction::none}),
               each(-2 * kLog4, 3 * std::log(2.0)), 1e-15);
  expect_same(bce_loss(each(0, 1), each(1, 0), {.reduction = Reduction::none}), each(100, 100));
  expect_close(bce_loss(each(0, 1), each(0, 1), {.reduction = Reduction::none}), each(0, 0), 0.0);

  const Tensor z = from_values<double>({std::log(3.0), -1000});  // 3/4 and nearly 0
  expect_close(bce_with_logits(z, each(0, 1), {.reduction = Reduction::none}), each(-kLog4, 1000), 1e-15);
  expect_close(bce_with_logits(z, each(1, 0), {.reduction = Reduction::none}), each(-std::log(0.75), 0), 1e-15);
  expect_close(
      bce_with_logits(z, each(1, 1), {.weight = each(1, 2), .pos_weight = scalar(5.0), .reduction = Reduction::none}),
      each(-5 * std::log(0.75), 10000), 1e-15);
  expect_close(bce_with_logits(z, each(0, 0), {.pos_weight = scalar(5.0), .reduction = Reduction::none}),
               each(-kLog4, 0), 1e-15);

  const Tensor log_p = from_values<double>({kLog4, kLog4, 0, 0}, {2, 2});
  const Tensor r = from_values<double>({0.5, 0, 1, 0.25}, {2, 2});
  // 0.5 (log 0.5 - log 0.25) = 0.5 log 2; 0; 1 (0 - 0); 0.25 log 0.25
  const double total = 0.5 * std::log(2.0) + 0.25 * kLog4;
  expect_close(kl_div(log_p, r, {.reduction = KlDivReduction::none}),
               from_values<double>({0.5 * std::log(2.0), 0, 0, 0.25 * kLog4}, {2, 2}), 1e-15);
  expect_value(kl_div(log_p, r, {.reduction = KlDivReduction::sum}), total);
  expect_value(kl_div(log_p, r), total / 4);
  expect_value(kl_div(log_p, r, {.reduction = KlDivReduction::batchmean}), total / 2);
  expect_value(
      kl_div(scalar(kLog4), scalar(std::log(0.5)), {.log_target = true, .reduction = KlDivReduction::batchmean}),
      0.5 * std::log(2.0));
}

BOOST_AUTO_TEST_CASE(sums_and_means_are_those_of_the_losses_whatever_the_sizes_layouts_and_threads) {
  Generator g(2);
  for (const std::int64_t count : {1, 255, 256, 257, 40000}) {
    const Tensor x = uniform({count, 2}, 0.01, 0.99, g, DType::f64);
    const Tensor y = uniform({2, count}, 0.01, 0.99, g, DType::f64).transpose();
    for (const auto& loss : kPairLosses) {
      const Tensor each = loss(x, y, Reduction::none);
      expect_same(each, loss(x, y.contiguous(), Reduction::none));
      expect_close(loss(x, y, Reduction::sum), sum(each), 1e-12);
      expect_close(loss(x, y, Reduction::mean), mean(each), 1e-12);
      const MathThreads one(1);
      const Tensor alone = loss(x, y, Reduction::sum);
      for (const int threads : {2, 3}) {
        const MathThreads several(threads);
        expect_same(loss(x, y, Reduction::sum), alone);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(no_losses_sum_to_0_and_have_no_mean) {
  const Tensor nothing = zeros({0, 3});
  for (const auto& loss : kPairLosses) {
    BOOST_TEST(loss(nothing, nothing, Reduction::none).shape() == nothing.shape());
    expect_same(loss(nothing, nothing, Reduction::sum), scalar(0.0F));
    BOOST_CHECK(std::isnan(loss(nothing, nothing, Reduction::mean).item()));
  }
  const Tensor no_target = zeros({0}, DType::i64);
  for (const bool fused : {false, true}) {
    const auto loss = [&](Reduction r) {
      return fused ? cross_entropy(nothing, no_target, r) : nll_loss(nothing, no_target, r);
    };
    BOOST_TEST(loss(Reduction::none).shape() == Shape{0});
    expect_same(loss(Reduction::sum), scalar(0.0F));
    BOOST_CHECK(std::isnan(loss(Reduction::mean).item()));
  }
}

BOOST_AUTO_TEST_CASE(dtypes_are_promoted_and_floats_of_16_bits_rounded_once) {
  Generator g(4);
  const Tensor x = uniform({5, 300}, 0.05, 0.95, g);
  const Tensor y = uniform({5, 300}, 0.05, 0.95, g);
  const Tensor target = classes({3, 299, 0, 3, 17});
  for (const Reduction reduction : kReductions) {
    for (const auto& loss : kPairLosses) {
      expect_rounded([&](const Tensor& a, const Tensor& b) { return loss(a, b, reduction); }, x, y);
    }
    expect_rounded([&](const Tensor& a) { return nll_loss(a, target, reduction); }, x);
    expect_rounded(
        [&](const Tensor& a) { return cross_entropy(a, target, {.reduction = reduction, .label_smoothing = 0.1}); }, x);
  }
  expect_same(mse_loss(from_values<float>({1}), from_values<double>({0.1})),
              mse_loss(from_values<double>({1}), from_values<double>({0.1})));
  expect_same(l1_loss(from_values<std::int64_t>({4}), from_values<bool>({true})), scalar(3.0F));
}

BOOST_AUTO_TEST_CASE(losses_of_classes_refuse_what_does_not_fit) {
  const Tensor x = zeros({8, 10});
  const Tensor target = zeros({8}, DType::i64);
  expect_error<ShapeError>("[nll_loss] targets do not fit: (8, 10) and (7)",
                           [&] { (void)nll_loss(x, zeros({7}, DType::i64)); });
  expect_error<ShapeError>("[nll_loss] targets do not fit: (10) and (1)",
                           [] { (void)nll_loss(zeros({10}), zeros({1}, DType::i64)); });
  expect_error<ShapeError>("[nll_loss] targets do not fit: () and ()",
                           [] { (void)nll_loss(zeros({}), zeros({}, DType::i64)); });
  expect_error<ShapeError>("[cross_entropy] targets do not fit: (2, 3, 4) and (2, 3)", [] {
    (void)cross_entropy(zeros({2, 3, 4}), zeros({2, 3}, DType::i64));
  });
  expect_error<ShapeError>("[cross_entropy] targets do not fit: (8, 10) and (8, 9)", [&] {
    (void)cross_entropy(x, zeros({8, 9}));
  });
  expect_error<IndexError>("[nll_loss] index out of range: 10 of 10", [&] { (void)nll_loss(x, add(target, 10.0)); });
  expect_error<IndexError>("[cross_entropy] index out of range: -1 of 10",
                           [&] { (void)cross_entropy(x, sub(target, 1.0)); });
  expect_error<DTypeError>("[nll_loss] needs a floating dtype: i64", [&] {
    (void)nll_loss(zeros({8, 10}, DType::i64), target);
  });
  expect_error<DTypeError>("[nll_loss] index is f32, not i64 or i32", [&] { (void)nll_loss(x, zeros({8})); });
  expect_error<ShapeError>("[nll_loss] weight does not fit: (3) for 10 classes",
                           [&] { (void)nll_loss(x, target, {.weight = ones({3})}); });
  expect_error<DTypeError>("[cross_entropy] needs a floating dtype: i64",
                           [&] { (void)cross_entropy(x, target, {.weight = ones({10}, DType::i64)}); });
  expect_error<ValueError>("[cross_entropy] label smoothing outside [0, 1]: 1.5",
                           [&] { (void)cross_entropy(x, target, {.label_smoothing = 1.5}); });
  expect_error<TensorError>("[cross_entropy] tensor is undefined", [&] { (void)cross_entropy(x, Tensor()); });
}

BOOST_AUTO_TEST_CASE(losses_of_pairs_refuse_what_does_not_fit) {
  const Tensor x = full({2, 2}, 0.5);
  expect_error<ShapeError>("[mse_loss] shapes differ: (2) and (3)", [] { (void)mse_loss(zeros({2}), zeros({3})); });
  expect_error<ShapeError>("[kl_div] shapes differ: (2, 2) and (2)", [&] { (void)kl_div(x, zeros({2})); });
  expect_error<ValueError>("[smooth_l1_loss] beta below 0: -1", [&] { (void)smooth_l1_loss(x, x, {.beta = -1}); });
  expect_error<ValueError>("[huber_loss] delta not above 0: 0", [&] { (void)huber_loss(x, x, {.delta = 0}); });
  expect_error<ValueError>("[bce_loss] not a probability: 1.5", [&] { (void)bce_loss(add(x, 1.0), x); });
  expect_error<ValueError>("[bce_loss] not a probability: -0.5", [&] { (void)bce_loss(sub(x, 1.0), x); });
  expect_error<ShapeError>("[bce_loss] weight does not fit: (3) for (2, 2)",
                           [&] { (void)bce_loss(x, x, {.weight = ones({3})}); });
  expect_error<ShapeError>("[bce_with_logits] pos_weight does not fit: (2, 2, 2) for (2, 2)", [&] {
    (void)bce_with_logits(x, x, {.pos_weight = ones({2, 2, 2})});
  });
  expect_error<DTypeError>("[bce_with_logits] needs a floating dtype: i64",
                           [&] { (void)bce_with_logits(x, x, {.weight = ones({2}, DType::i64)}); });
  expect_error<TensorError>("[l1_loss] tensor is undefined", [&] { (void)l1_loss(x, Tensor()); });
}

BOOST_AUTO_TEST_CASE(weights_of_pairs_are_on_the_device_of_the_pairs) {
  const Tensor x = full({2, 2}, 0.5);
  const Tensor there = testing::said_to_be_on(Device::cuda(), x);
  expect_error<DeviceError>("[bce_loss] devices differ: cpu and cuda:0",
                            [&] { (void)bce_loss(x, x, {.weight = there}); });
  expect_error<DeviceError>("[bce_with_logits] devices differ: cpu and cuda:0",
                            [&] { (void)bce_with_logits(x, x, {.weight = there}); });
  expect_error<DeviceError>("[bce_with_logits] devices differ: cuda:0 and cpu",
                            [&] { (void)bce_with_logits(there, there, {.pos_weight = x}); });
}

BOOST_AUTO_TEST_CASE(counts_and_numbers_are_compared_with_what_was_predicted) {
  const Tensor counts = from_values<double>({0, 1, 2});
  const Tensor rates = from_values<double>({1, 2, 4});
  const PoissonNllLossOptions each{.reduction = Reduction::none};
  // e^0 - 0, e^(log 2) - log 2, 4 - 2 log 4
  expect_close(poisson_nll_loss(log(rates), counts, each),
               from_values<double>({1, 2 - std::log(2.0), 4 - 2 * std::log(4.0)}), 1e-14);
  PoissonNllLossOptions plain = each;
  plain.log_input = false;
  plain.eps = 0.0;
  expect_close(poisson_nll_loss(rates, counts, plain), poisson_nll_loss(log(rates), counts, each), 1e-14);
  plain.full = true;  // 2 log 2 - 2 + log(4 pi) / 2 for the last one only
  const double stirling = 2 * std::log(2.0) - 2 + 0.5 * std::log(4 * std::numbers::pi);
  expect_close(poisson_nll_loss(rates, counts, plain),
               add(poisson_nll_loss(log(rates), counts, each), from_values<double>({0, 0, stirling})), 1e-14);
  plain.eps = 1.0;  // 1 - 0 log 2
  expect_close(poisson_nll_loss(ones({1}, DType::f64), zeros({1}, DType::f64), plain), ones({1}, DType::f64), 1e-15);
  expect_error<ShapeError>("[poisson_nll_loss] shapes do not broadcast: (2) and (3)",
                           [] { (void)poisson_nll_loss(ones({2}), ones({3})); });

  const Tensor x = from_values<double>({3, 1, 0, 0}, {2, 2});
  const Tensor y = from_values<double>({1, 1, 0, 2}, {2, 2});
  const GaussianNllLossOptions of_each{.reduction = Reduction::none};
  const Tensor one = from_values<double>({1, 4});
  // (log 1 + 4/1) / 2, 0; log(4) / 2, (log 4 + 4/4) / 2
  const Tensor expected = from_values<double>({2, 0, std::log(2.0), std::log(2.0) + 0.5}, {2, 2});
  for (const Tensor& var : {one, one.unsqueeze(1), one.unsqueeze(1).expand({2, 2})}) {
    expect_close(gaussian_nll_loss(x, y, var, of_each), expected, 1e-14);
  }
  expect_value(gaussian_nll_loss(x, y, one, {.full = true}),
               mean(expected).item() + 0.5 * std::log(2 * std::numbers::pi));
  expect_value(gaussian_nll_loss(zeros({1}, DType::f64), zeros({1}, DType::f64), zeros({1}, DType::f64), {.eps = 4.0}),
               std::log(2.0));
  expect_error<ShapeError>("[gaussian_nll_loss] variance does not fit: (3) for (2, 2)",
                           [&] { (void)gaussian_nll_loss(x, y, ones({3}, DType::f64)); });
  expect_error<ValueError>("[gaussian_nll_loss] a variance below 0", [&] { (void)gaussian_nll_loss(x, y, neg(one)); });
}

BOOST_AUTO_TEST_SUITE_END()
