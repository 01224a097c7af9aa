#include "tensor/ops/norm.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/support/said_to_be_on.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_norm)

namespace {

constexpr BatchNormOptions kRunning{.statistics = NormStatistics::running};

/// The normalisation of x (n, c, inner) over `axes`, composed of elementwise operations and reductions.
Tensor normalised_plainly(const Tensor& x, const Axes& axes, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor centred = x - mean(x, axes, KeepDim::yes);
  return centred * rsqrt(add(var(x, axes, 0, KeepDim::yes), eps)) * weight + bias;
}

/// Its gradient by x: (g - mean(g) - y mean(g y)) / std for y = (x - mean) / std and g = grad * weight.
Tensor gradient_plainly(const Tensor& grad, const Tensor& x, const Axes& axes, const Tensor& weight, double eps) {
  const Tensor g = grad * weight;
  const Tensor y = normalised_plainly(x, axes, ones({}, x.dtype()), zeros({}, x.dtype()), eps);
  return (g - mean(g, axes, KeepDim::yes) - y * mean(g * y, axes, KeepDim::yes)) *
         rsqrt(add(var(x, axes, 0, KeepDim::yes), eps));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_channel_of_a_batch_gets_mean_0_and_variance_1) {
  // Channel 0: mean 2, variance 1; channel 1: mean 20, variance 100.
  const Tensor x = from_values<double>({1, 10, 3, 30}, {2, 2});
  const BatchNormOptions exact{.eps = 0.0};
  const BatchNormResult plain = batch_norm(x, {}, {}, {}, exact);
  expect_same(plain.norm.output, from_values<double>({-1, -1, 1, 1}, {2, 2}));
  expect_same(plain.norm.mean, from_values<double>({2, 20}));
  expect_same(plain.norm.var, from_values<double>({1, 100}));
  BOOST_TEST(!plain.running.mean.defined());

  const Tensor weight = from_values<double>({2, 3});
  const Tensor bias = from_values<double>({10, 20});
  const RunningStatistics running{zeros({2}, DType::f64), ones({2}, DType::f64)};
  const BatchNormResult trained = batch_norm(x, running, weight, bias, exact);
  expect_same(trained.norm.output, from_values<double>({8, 17, 12, 23}, {2, 2}));  // -1*2+10, -1*3+20, 1*2+10, 1*3+20
  expect_close(trained.running.mean, from_values<double>({0.2, 2.0}), 1e-15);      // 0.1 * 2, 0.1 * 20
  expect_close(trained.running.var, from_values<double>({1.1, 20.9}), 1e-15);      // 0.9 * 1 + 0.1 * 2/1 * 1, ... * 100
  expect_same(running.mean, zeros({2}, DType::f64));                               // not written to

  // (x - 2) / sqrt(3 + 1): -0.5, 0.5; (x - 20) / sqrt(8 + 1)
  const RunningStatistics given{from_values<double>({2, 20}), from_values<double>({3, 8})};
  const BatchNormResult evaluated = batch_norm(x, given, {}, {}, {.statistics = NormStatistics::running, .eps = 1.0});
  expect_close(evaluated.norm.output, from_values<double>({-0.5, -10.0 / 3, 0.5, 10.0 / 3}, {2, 2}), 1e-15);
  expect_same(evaluated.running.mean, given.mean);
}

BOOST_AUTO_TEST_CASE(a_batch_gives_its_gradients_worked_out_by_hand) {
  // Mean 1.5, deviation 1.5, so y = -1, -1, 1, 1; sum(g) = 10, sum(g y) = 4; (g - 10/4 - y * 4/4) / 1.5.
  const Tensor x = from_values<double>({0, 0, 3, 3}, {4, 1});
  const Tensor g = from_values<double>({1, 2, 3, 4}, {4, 1});
  const BatchNormOptions exact{.eps = 0.0};
  const NormGradients found = batch_norm_backward(g, x, batch_norm(x, {}, {}, {}, exact).norm, {}, exact);
  expect_close(found.x, from_values<double>({-1.0 / 3, 1.0 / 3, -1.0 / 3, 1.0 / 3}, {4, 1}), 1e-14);
  expect_same(found.weight, from_values<double>({4}));
  expect_same(found.bias, from_values<double>({10}));
  // Running statistics are constants: the gradient is g * weight / deviation.
  const RunningStatistics running{from_values<double>({1.5}), from_values<double>({4})};
  const BatchNormOptions given{.statistics = NormStatistics::running, .eps = 0.0};
  const Tensor weight = from_values<double>({3});
  const NormGradients still = batch_norm_backward(g, x, batch_norm(x, running, weight, {}, given).norm, weight, given);
  expect_same(still.x, from_values<double>({1.5, 3, 4.5, 6}, {4, 1}));
  expect_same(still.weight, from_values<double>({3}));  // (-1.5 - 3 + 4.5 + 6) / 2
}

BOOST_AUTO_TEST_CASE(rows_are_normalised_with_a_weight_for_each_element) {
  const Tensor x = from_values<double>({0, 0, 3, 3}, {1, 4});
  const Tensor weight = from_values<double>({1, 2, 3, 4});
  const NormResult result = layer_norm(x, {4}, weight, from_values<double>({0, 0, 0, 1}), 0.0);
  expect_same(result.output, from_values<double>({-1, -2, 3, 5}, {1, 4}));
  // g weight = 1, 4, 9, 16: the sum is 30, with y 20; (g weight - 30/4 - y * 20/4) / 1.5
  const NormGradients found =
      layer_norm_backward(from_values<double>({1, 2, 3, 4}, {1, 4}), x, result, {4}, weight, 0.0);
  expect_close(found.x, from_values<double>({-1, 1, -7.0 / 3, 7.0 / 3}, {1, 4}), 1e-14);
  expect_same(found.weight, from_values<double>({-1, -2, 3, 4}));
  expect_same(found.bias, from_values<double>({1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(channels_are_normalised_in_groups) {
  const Tensor x = from_values<double>({0, 0, 3, 3, 10, 10, 40, 40}, {1, 4, 2});
  const Tensor weight = from_values<double>({1, 2, 3, 4});
  const Tensor bias = from_values<double>({0, 0, 0, 1});
  const Tensor expected = from_values<double>({-1, -1, 2, 2, -3, -3, 5, 5}, {1, 4, 2});
  const NormResult result = group_norm(x, 2, weight, bias, 0.0);
  expect_same(result.output, expected);
  expect_same(result.mean, from_values<double>({1.5, 25}, {1, 2}));
  // Group 0, g weight = 1, 1, 2, 2: the sum is 6, with y 2; (g weight - 6/4 - y * 2/4) / 1.5 = 0. Group 1 likewise.
  const NormGradients found = group_norm_backward(ones({1, 4, 2}, DType::f64), x, result, 2, weight, 0.0);
  expect_close(found.x, zeros({1, 4, 2}, DType::f64), 0.0, 1e-15);
  expect_same(found.weight, from_values<double>({-2, 2, -2, 2}));
  expect_same(found.bias, from_values<double>({2, 2, 2, 2}));
  // One group per channel: equal elements are at their mean, so only the bias remains.
  expect_same(instance_norm(x, weight, bias).output, from_values<double>({0, 0, 0, 0, 0, 0, 1, 1}, {1, 4, 2}));
  expect_same(instance_norm(from_values<double>({1, 3}, {1, 1, 2}), {}, {}, 0.0).output,
              from_values<double>({-1, 1}, {1, 1, 2}));
}

BOOST_AUTO_TEST_CASE(any_sizes_give_what_elementwise_operations_give) {
  Generator generator(5);
  for (const Shape& shape : {Shape{2, 1}, Shape{5, 64}, Shape{3, 131}, Shape{2, 3, 1}, Shape{4, 3, 7},
                             Shape{2, 5, 4, 4}, Shape{33, 2, 3, 3}}) {
    const Tensor x = add(mul(randn(shape, generator, DType::f64), 3.0), 7.0);
    const Tensor grad = randn(shape, generator, DType::f64);
    const std::int64_t channels = shape[1];
    const Tensor weight = randn({channels}, generator, DType::f64);
    const Tensor bias = randn({channels}, generator, DType::f64);
    const Shape flat{shape[0], channels, x.numel() / (shape[0] * channels)};
    const Tensor rows = x.view(flat);
    const Tensor grad_rows = grad.view(flat);
    const Tensor w = weight.view({channels, 1});
    const Tensor b = bias.view({channels, 1});

    const BatchNormResult batch = batch_norm(x, {}, weight, bias);
    expect_close(batch.norm.output.view(flat), normalised_plainly(rows, {0, 2}, w, b, 1e-5), 1e-11, 1e-12);
    const NormGradients by_batch = batch_norm_backward(grad, x, batch.norm, weight);
    expect_close(by_batch.x.view(flat), gradient_plainly(grad_rows, rows, {0, 2}, w, 1e-5), 1e-11, 1e-12);
    expect_close(by_batch.bias, sum(grad_rows, {0, 2}), 1e-12, 1e-13);

    const NormResult group = group_norm(x, 1, weight, bias);
    expect_close(group.output.view(flat), normalised_plainly(rows, {1, 2}, w, b, 1e-5), 1e-11, 1e-12);
    const NormGradients by_group = group_norm_backward(grad, x, group, 1, weight);
    expect_close(by_group.x.view(flat), gradient_plainly(grad_rows, rows, {1, 2}, w, 1e-5), 1e-11, 1e-12);
    expect_close(by_group.bias, by_batch.bias, 1e-12, 1e-13);
    const Tensor y = normalised_plainly(rows, {1, 2}, ones({}, DType::f64), zeros({}, DType::f64), 1e-5);
    expect_close(by_group.weight, sum(grad_rows * y, {0, 2}), 1e-11, 1e-12);

    const Tensor layer = layer_norm(rows, {flat[2]}, {}, {}).output;
    expect_close(layer, normalised_plainly(rows, {2}, ones({}, DType::f64), zeros({}, DType::f64), 1e-5), 1e-11, 1e-12);
    // Neither the layout nor the dtype of the weight has an influence.
    const Tensor strided = stack(std::vector{x, grad}, -1).select(-1, 0);
    BOOST_TEST(!strided.is_contiguous());
    expect_same(batch_norm(strided, {}, weight, bias).norm.output, batch.norm.output);
    expect_same(layer_norm(strided.view(flat), {flat[2]}, {}, {}).output, layer);
    expect_same(group_norm(x.to(DType::f32), 1, weight).output,
                group_norm(x.to(DType::f32), 1, weight.to(DType::f32)).output);
  }
}

BOOST_AUTO_TEST_CASE(many_rows_add_up_to_the_gradients_of_weight_and_bias) {
  Generator generator(8);
  for (const std::int64_t rows : {3, 64, 107}) {
    const Tensor x = randn({rows, 5}, generator, DType::f64);
    const Tensor grad = randn({rows, 5}, generator, DType::f64);
    const Tensor weight = randn({5}, generator, DType::f64);
    const NormGradients found = layer_norm_backward(grad, x, layer_norm(x, {5}, weight), {5}, weight);
    const Tensor y = normalised_plainly(x, {1}, ones({}, DType::f64), zeros({}, DType::f64), 1e-5);
    expect_close(found.x, gradient_plainly(grad, x, {1}, weight, 1e-5), 1e-11, 1e-12);
    expect_close(found.weight, sum(grad * y, 0), 1e-11, 1e-12);
    expect_close(found.bias, sum(grad, 0), 1e-11, 1e-12);
    // With groups, each group has its own row of weights.
    const NormResult groups = group_norm(concat(std::vector{x, grad}, 1), 2, concat(std::vector{weight, weight}));
    const Tensor both = concat(std::vector{grad, grad}, 1);
    const NormGradients of_groups =
        group_norm_backward(both, concat(std::vector{x, grad}, 1), groups, 2, concat(std::vector{weight, weight}));
    expect_close(of_groups.weight.slice(0, 0, 5), found.weight, 1e-11, 1e-12);
    expect_close(of_groups.x.slice(1, 0, 5), found.x, 1e-11, 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(elements_far_from_0_keep_their_variance) {
  // 2^30 + 0, 1, 2, 3: mean 2^30 + 1.5, variance 1.25. A sum of squares would lose all digits of it.
  const Tensor x = add(arange(4, DType::f64), 0x1p30).view({4, 1});
  expect_same(batch_norm(x).norm.var, from_values<double>({1.25}));
  expect_same(layer_norm(x.view({1, 4}), {4}).var, from_values<double>({1.25}, {1, 1}));
}

BOOST_AUTO_TEST_CASE(an_element_that_is_not_finite_makes_all_it_is_normalised_with_nan) {
  for (const double odd : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Tensor x = from_values<float>({1, static_cast<float>(odd), 2, 3});
    BOOST_CHECK(all(isnan(layer_norm(x.view({1, 4}), {4}).output)).item<bool>());
    BOOST_CHECK(all(isnan(group_norm(x.view({1, 1, 4}), 1).output)).item<bool>());
    BOOST_CHECK(all(isnan(instance_norm(x.view({1, 1, 4})).output)).item<bool>());
    for (const Tensor& batch : {x.view({4, 1}), x.view({4, 1, 1}), x.view({1, 1, 4})}) {
      const BatchNormResult result = batch_norm(batch, {zeros({1}), ones({1})}, {}, {});
      BOOST_CHECK(all(isnan(result.norm.output)).item<bool>());
      BOOST_CHECK(isnan(result.running.var).item<bool>());
    }
  }
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  Generator generator(6);
  for (const Shape& shape : {Shape{40, 6, 30, 30}, Shape{3000, 70}}) {
    const Tensor x = randn(shape, generator, DType::f64);
    const Tensor grad = randn(shape, generator, DType::f64);
    const Shape last{shape[shape.size() - 1]};
    std::vector<Tensor> seen;
    for (const int threads : {1, 2, 3}) {
      const MathThreads guard(threads);
      const NormResult batch = batch_norm(x).norm;
      const NormResult layer = layer_norm(x, last);
      const NormGradients by_batch = batch_norm_backward(grad, x, batch);
      const NormGradients by_layer = layer_norm_backward(grad, x, layer, last);
      const std::vector<Tensor> found{batch.output, layer.output,    by_batch.x,   by_batch.weight,
                                      by_layer.x,   by_layer.weight, by_layer.bias};
      for (std::size_t i = 0; i < found.size() && !seen.empty(); ++i) BOOST_TEST(same_bytes(found[i], seen[i]), i);
      seen = found;
    }
  }
}

BOOST_AUTO_TEST_CASE(floats_of_16_bits_are_rounded_once) {
  Generator generator(7);
  const Tensor x = randn({6, 4, 5}, generator);
  const Tensor grad = randn({6, 4, 5}, generator);
  const Tensor weight = randn({4}, generator);
  expect_rounded([](const Tensor& a, const Tensor& w) { return batch_norm(a, {}, w, w).norm.output; }, x, weight);
  expect_rounded([](const Tensor& a, const Tensor& w) { return group_norm(a, 2, w, w).output; }, x, weight);
  expect_rounded([](const Tensor& a) { return layer_norm(a, {4, 5}).output; }, x);
  expect_rounded([](const Tensor& g, const Tensor& a) { return layer_norm_backward(g, a, layer_norm(a, {5}), {5}).x; },
                 grad, x);
  expect_rounded([](const Tensor& g, const Tensor& a) { return batch_norm_backward(g, a, batch_norm(a).norm).x; }, grad,
                 x);
  for (const DType dtype : kDTypesOf16BitFloats) {
    const NormResult result = batch_norm(x.to(dtype)).norm;
    BOOST_CHECK(batch_norm_backward(grad.to(dtype), x.to(dtype), result).weight.dtype() == DType::f32);
    // Running statistics keep their dtype.
    const RunningStatistics running{zeros({4}), ones({4})};
    BOOST_CHECK(batch_norm(x.to(dtype), running).running.var.dtype() == DType::f32);
  }
}

BOOST_AUTO_TEST_CASE(nothing_and_single_elements_are_normalised) {
  const RunningStatistics running{ones({3}), ones({3})};
  const BatchNormResult none = batch_norm(zeros({0, 3, 2}), running);
  BOOST_TEST(none.norm.output.shape() == (Shape{0, 3, 2}));
  expect_same(none.running.mean, ones({3}));
  BOOST_TEST(batch_norm(zeros({2, 0})).norm.output.numel() == 0);
  expect_same(batch_norm_backward(zeros({0, 3}), zeros({0, 3}), batch_norm(zeros({0, 3})).norm).weight, zeros({3}));
  BOOST_TEST(layer_norm(zeros({0, 4}), {4}).output.shape() == (Shape{0, 4}));
  BOOST_TEST(layer_norm(zeros({4, 0}), {0}).output.shape() == (Shape{4, 0}));
  BOOST_TEST(group_norm(zeros({0, 4, 2}), 2).output.shape() == (Shape{0, 4, 2}));
  BOOST_TEST(instance_norm(zeros({2, 0, 2})).output.shape() == (Shape{2, 0, 2}));
  // One element equals its mean.
  expect_same(layer_norm(from_values<float>({5}), {1}, from_values<float>({2}), from_values<float>({3})).output,
              from_values<float>({3}));
  expect_close(batch_norm(from_values<float>({3, 5}, {1, 2}), {zeros({2}), ones({2})}, {}, {}, kRunning).norm.output,
               from_values<float>({3, 5}, {1, 2}), 1e-5);
}

BOOST_AUTO_TEST_CASE(moments_are_on_the_device_of_what_was_normalised) {
  const Tensor x = ones({2, 4, 3});
  const auto moved = [](const NormResult& forward) {
    const auto there = [](const Tensor& moment) { return testing::said_to_be_on(Device::cuda(), moment); };
    return NormResult{forward.output, there(forward.mean), there(forward.var)};
  };
  expect_error<DeviceError>("[batch_norm_backward] devices differ: cpu and cuda:0",
                            [&] { (void)batch_norm_backward(x, x, moved(batch_norm(x).norm)); });
  expect_error<DeviceError>("[layer_norm_backward] devices differ: cpu and cuda:0",
                            [&] { (void)layer_norm_backward(x, x, moved(layer_norm(x, {3})), {3}); });
  expect_error<DeviceError>("[group_norm_backward] devices differ: cpu and cuda:0",
                            [&] { (void)group_norm_backward(x, x, moved(group_norm(x, 2)), 2); });
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  const Tensor x = zeros({2, 3});
  expect_error<ShapeError>("[batch_norm] fewer than 2 dimensions: (3)", [] { (void)batch_norm(zeros({3})); });
  expect_error<ShapeError>("[batch_norm] weight does not fit: (4) for 3 channels",
                           [&] { (void)batch_norm(x, {}, zeros({4})); });
  expect_error<ShapeError>("[batch_norm] bias does not fit: (1, 3) for 3 channels", [&] {
    (void)batch_norm(x, {}, {}, zeros({1, 3}));
  });
  expect_error<ShapeError>("[batch_norm] running var does not fit: (2) for 3 channels", [&] {
    (void)batch_norm(x, {zeros({3}), zeros({2})});
  });
  expect_error<ValueError>("[batch_norm] there are no running statistics", [&] {
    (void)batch_norm(x, {zeros({3}), {}});
  });
  expect_error<ValueError>("[batch_norm] there are no running statistics",
                           [&] { (void)batch_norm(x, {}, {}, {}, kRunning); });
  expect_error<ValueError>("[batch_norm] one element per channel has no variance: (1, 3)", [] {
    (void)batch_norm(zeros({1, 3}));
  });
  expect_error<DTypeError>("[batch_norm] needs a floating dtype: i64", [] {
    (void)batch_norm(zeros({2, 3}, DType::i64));
  });
  expect_error<DTypeError>("[batch_norm] needs a floating dtype: i32",
                           [&] { (void)batch_norm(x, {}, zeros({3}, DType::i32)); });
  expect_error<ShapeError>("[batch_norm_backward] shapes differ: (3, 2) and (2, 3)", [&] {
    (void)batch_norm_backward(zeros({3, 2}), x, batch_norm(x).norm);
  });
  expect_error<DTypeError>("[batch_norm_backward] dtypes differ: f64 and f32", [&] {
    (void)batch_norm_backward(zeros({2, 3}, DType::f64), x, batch_norm(x).norm);
  });
  expect_error<ShapeError>("[layer_norm] last dimensions are not (4): (2, 3)", [&] { (void)layer_norm(x, {4}); });
  expect_error<ShapeError>("[layer_norm] last dimensions are not (1, 2, 3): (2, 3)", [&] {
    (void)layer_norm(x, {1, 2, 3});
  });
  expect_error<ShapeError>("[layer_norm] no dimensions to normalise", [&] { (void)layer_norm(x, {}); });
  expect_error<ShapeError>("[layer_norm] weight does not fit: (4) for (3)",
                           [&] { (void)layer_norm(x, {3}, zeros({4})); });
  expect_error<ShapeError>("[group_norm] 3 channels in 2 groups", [&] { (void)group_norm(x, 2); });
  expect_error<ShapeError>("[group_norm] 3 channels in 0 groups", [&] { (void)group_norm(x, 0); });
  expect_error<ShapeError>("[group_norm] fewer than 2 dimensions: (3)", [] { (void)group_norm(zeros({3}), 1); });
  expect_error<ShapeError>("[instance_norm] fewer than 3 dimensions: (2, 3)", [&] { (void)instance_norm(x); });
  expect_error<TensorError>("[layer_norm] tensor is undefined", [] { (void)layer_norm(Tensor(), {3}); });
}

BOOST_AUTO_TEST_SUITE_END()
