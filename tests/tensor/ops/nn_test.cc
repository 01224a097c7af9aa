#include "tensor/ops/nn.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_nn)

BOOST_AUTO_TEST_CASE(softmax_gives_the_hand_values) {
  // exp of log 1, log 2, log 5 over 1 + 2 + 5
  const Tensor x = log(from_values<double>({1, 2, 5}));
  expect_close(softmax(x), from_values<double>({0.125, 0.25, 0.625}), 1e-15);
  expect_close(log_softmax(x), log(from_values<double>({0.125, 0.25, 0.625})), 1e-15);
  expect_close(softmax(x.to(DType::f32)), from_values<float>({0.125, 0.25, 0.625}), 1e-6);
  expect_same(softmax(from_values<float>({1000, 1000})), from_values<float>({0.5, 0.5}));
  expect_close(log_softmax(from_values<float>({-1000, 0})), from_values<float>({-1000, 0}), 0, 0);
  expect_same(softmax(from_values<std::int64_t>({3, 3})), from_values<float>({0.5, 0.5}));
}

BOOST_AUTO_TEST_CASE(softmax_runs_along_any_dimension) {
  Generator g(1);
  const Tensor x = randn({3, 4, 5}, g, DType::f64);
  for (int dim = 0; dim < 3; ++dim) {
    expect_close(softmax(x, dim), exp(x) / sum(exp(x), dim, KeepDim::yes), 1e-14);
    expect_close(log_softmax(x, dim), x - logsumexp(x, dim, KeepDim::yes), 1e-13);
    expect_close(softmax(x.transpose(), dim), softmax(x.transpose().contiguous(), dim), 0);
  }
  BOOST_CHECK_EQUAL(softmax(zeros({0, 4})).shape(), (Shape{0, 4}));
  BOOST_CHECK_EQUAL(softmax(zeros({4, 0})).shape(), (Shape{4, 0}));
  expect_error<ShapeError>("[softmax] dimension out of range: 3 of (3, 4, 5)", [&] { (void)softmax(x, 3); });
}

BOOST_AUTO_TEST_CASE(lines_of_any_length_and_number_give_what_elementwise_operations_give) {
  Generator g(9);
  for (const std::int64_t size : {1, 5, 63, 64, 65, 200}) {
    for (const std::int64_t inner : {1, 3, 128, 131}) {
      const Tensor x = mul(randn({2, size, inner}, g, DType::f64), 4.0);
      const Tensor grad = randn({2, size, inner}, g, DType::f64);
      const Tensor p = exp(x) / sum(exp(x), 1, KeepDim::yes);
      expect_close(softmax(x, 1), p, 1e-13);
      expect_close(log_softmax(x, 1), log(p), 1e-12, 1e-13);
      expect_close(softmax_backward(grad, p, 1), p * (grad - sum(grad * p, 1, KeepDim::yes)), 1e-11, 1e-13);
      expect_close(log_softmax_backward(grad, log(p), 1), grad - p * sum(grad, 1, KeepDim::yes), 1e-11, 1e-13);
      expect_close(softmax(x.to(DType::f32), 1), p.to(DType::f32), 2e-6);
      expect_close(log_softmax(x.to(DType::f32), 1), log(p).to(DType::f32), 2e-6, 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(long_lines_side_by_side_give_what_elementwise_operations_give) {
  Generator g(10);
  for (const Shape& shape : {Shape{2, 3000, 20}, Shape{2, 2500, 5}, Shape{1, 3, 1100}, Shape{2, 65, 259}}) {
    const Tensor x = randn(shape, g, DType::f64);
    const Tensor grad = randn(shape, g, DType::f64);
    const Tensor p = exp(x) / sum(exp(x), 1, KeepDim::yes);
    expect_close(softmax(x, 1), p, 1e-12);
    expect_close(log_softmax(x, 1), log(p), 1e-12);
    expect_close(softmax_backward(grad, p, 1), p * (grad - sum(grad * p, 1, KeepDim::yes)), 1e-11, 1e-13);
    expect_close(log_softmax_backward(grad, log(p), 1), grad - p * sum(grad, 1, KeepDim::yes), 1e-11, 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(nothing_passes_from_one_line_to_its_neighbours) {
  Generator g(3);
  const Tensor x = randn({2, 7, 40}, g);
  const Tensor grad = randn({2, 7, 40}, g);
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  Tensor spoilt = x.clone();
  spoilt.select(0, 1).select(0, 3).slice(0, 17, 18).fill(kNaN);
  const auto check = [&](const Tensor& found, const Tensor& expected) {
    Tensor line = found.select(0, 1).select(1, 17);
    BOOST_CHECK(all(isnan(line)).item<bool>());
    line.copy_from(expected.select(0, 1).select(1, 17));
    expect_same(found, expected);
  };
  check(softmax(spoilt, 1), softmax(x, 1));
  check(log_softmax(spoilt, 1), log_softmax(x, 1));
  check(softmax_backward(grad, spoilt, 1), softmax_backward(grad, x, 1));
}

BOOST_AUTO_TEST_CASE(softmax_of_what_was_masked_out_is_0) {
  constexpr float kOut = -std::numeric_limits<float>::infinity();
  const Tensor x = from_values<float>({1, kOut, kOut, 2}, {2, 2});
  expect_same(softmax(x, 0), eye(2));
  expect_same(softmax(x, 1), eye(2));
}

BOOST_AUTO_TEST_CASE(softmax_gradients_give_the_hand_values) {
  const Tensor p = from_values<double>({0.25, 0.75});
  const Tensor g = from_values<double>({1, 3});
  // p (g - sum(p g)): the sum is 0.25 + 2.25 = 2.5
  expect_same(softmax_backward(g, p), from_values<double>({-0.375, 0.375}));
  // g - p sum(g): the sum is 4
  expect_close(log_softmax_backward(g, log(p)), from_values<double>({0, 0}), 0, 1e-15);
  const Tensor g2 = from_values<double>({2, 0});
  expect_close(log_softmax_backward(g2, log(p)), from_values<double>({1.5, -1.5}), 1e-15);
  expect_error<ShapeError>("[softmax_backward] shapes differ: (2) and (3)",
                           [&] { (void)softmax_backward(g, zeros({3}, DType::f64)); });
  expect_error<DTypeError>("[log_softmax_backward] dtypes differ: f64 and f32",
                           [&] { (void)log_softmax_backward(g, zeros({2})); });
}

BOOST_AUTO_TEST_CASE(floats_of_16_bits_are_rounded_once) {
  Generator g(4);
  const Tensor x = randn({5, 300}, g);
  const Tensor grad = randn({5, 300}, g);
  for (const int dim : {0, 1}) {
    expect_rounded([&](const Tensor& a) { return softmax(a, dim); }, x);
    expect_rounded([&](const Tensor& a) { return log_softmax(a, dim); }, x.transpose());
    expect_rounded([&](const Tensor& a, const Tensor& b) { return softmax_backward(a, b, dim); }, grad,
                   softmax(x, dim));
    expect_rounded([&](const Tensor& a, const Tensor& b) { return log_softmax_backward(a, b, dim); }, grad,
                   log_softmax(x, dim));
  }
}

BOOST_AUTO_TEST_CASE(a_mask_of_16_bits_drops_what_one_of_f32_drops) {
  for (const DType dtype : kDTypesOf16BitFloats) {
    Generator a(6);
    Generator b(6);
    expect_same(dropout_mask({33}, 0.3, a, dtype), dropout_mask({33}, 0.3, b).to(dtype));
    BOOST_CHECK(a == b);
  }
}

BOOST_AUTO_TEST_CASE(cosine_similarity_gives_the_hand_values) {
  const Tensor a = from_values<double>({3, 4, 1, 0, 0, 0}, {3, 2});
  // (3*4 + 4*3) / (5*5), (0*1 + 2*0), and 0 for zero vectors.
  expect_close(cosine_similarity(a, from_values<double>({4, 3, 0, 2, 0, 0}, {3, 2})), from_values<double>({0.96, 0, 0}),
               1e-15);
  expect_close(cosine_similarity(a, from_values<double>({0, 1}, {1, 2})), from_values<double>({0.8, 0, 0}), 1e-15);
  expect_close(cosine_similarity(a.transpose(), a.transpose(), 0), from_values<double>({1, 1, 0}), 1e-15);
  expect_error<ValueError>("[cosine_similarity] eps not above 0: 0", [&] { (void)cosine_similarity(a, a, 1, 0.0); });
}

BOOST_AUTO_TEST_CASE(cosine_similarity_of_vectors_of_any_length) {
  const Tensor a = from_values<float>({3, 4}, {1, 2}), b = from_values<float>({4, 3}, {1, 2});
  for (const double length : {1e19, 1e37, 1e-3})
    expect_close(cosine_similarity(a * length, b * length), from_values<float>({0.96F}), 1e-6);
  expect_same(cosine_similarity(a.to(DType::i32), b.to(DType::i32)), from_values<float>({0.96F}));
}

BOOST_AUTO_TEST_CASE(softmin_is_softmax_of_the_negative) {
  const Tensor x = neg(log(from_values<double>({1, 2, 5})));
  expect_close(softmin(x), from_values<double>({0.125, 0.25, 0.625}), 1e-15);
  expect_same(softmin(from_values<std::uint8_t>({3, 3})), from_values<float>({0.5, 0.5}));
  expect_error<TensorError>("[softmin] tensor is undefined", [] { (void)softmin(Tensor()); });
}

BOOST_AUTO_TEST_CASE(distances_of_pairs_are_norms_of_differences) {
  const Tensor a = from_values<double>({3, 4, 1, 1}, {2, 2});
  expect_same(pairwise_distance(a, zeros({2}, DType::f64), 2.0, 0.0), from_values<double>({5, std::sqrt(2.0)}));
  expect_same(pairwise_distance(a, zeros({2}, DType::f64), 1.0, 0.5, KeepDim::yes),
              from_values<double>({8, 3}, {2, 1}));
  expect_close(pairwise_distance(a, a), full({2}, std::sqrt(2e-12), DType::f64), 1e-12);
  expect_same(pairwise_distance(zeros({0, 2}), zeros({0, 2})), zeros({0}));
  for (const double p : {1.0, 2.0, std::numeric_limits<double>::infinity()})
    expect_same(pairwise_distance(zeros({3, 0}), zeros({0}), p), zeros({3}));
  expect_error<ValueError>("[norm] p not above 0: -1", [] {
    (void)pairwise_distance(zeros({3, 0}), zeros({3, 0}), -1.0);
  });
  expect_error<ShapeError>("[pairwise_distance] shapes do not broadcast: (2) and (3)",
                           [] { (void)pairwise_distance(ones({2}), ones({3})); });
  expect_error<ShapeError>("[pairwise_distance] no dimension to sum over",
                           [] { (void)pairwise_distance(ones({}), ones({})); });
}

BOOST_AUTO_TEST_CASE(what_is_normalized_has_a_norm_of_1_unless_it_is_tiny) {
  const Tensor x = from_values<double>({3, 4, 0, 0}, {2, 2});
  expect_close(normalize(x), from_values<double>({0.6, 0.8, 0, 0}, {2, 2}), 1e-15);
  expect_close(normalize(x, 1.0, 0), from_values<double>({1, 1, 0, 0}, {2, 2}), 1e-15);
  expect_close(normalize(x, 2.0, 1, 10.0), from_values<double>({0.3, 0.4, 0, 0}, {2, 2}), 1e-15);
  expect_same(normalize(x.transpose(), 2.0, 0), normalize(x).transpose());
  BOOST_CHECK(normalize(ones({1, 2}, DType::i32)).dtype() == DType::f32);
  expect_error<ShapeError>("[normalize] dimension out of range: 1 of (2)", [] { (void)normalize(ones({2})); });
}

BOOST_AUTO_TEST_CASE(bilinear_sums_over_both_inputs) {
  const Tensor a = from_values<double>({1, 2, 0, 1}, {2, 2});
  const Tensor b = from_values<double>({1, 0, 3, 2, 1, 1}, {2, 3});
  const Tensor weight = from_values<double>({1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0}, {2, 2, 3});
  // Row 0: (1 + 2) * (1 + 0 + 3), and 1*3 + 2*0. Row 1: 1 * (2 + 1 + 1), and 1*1.
  expect_same(bilinear(a, b, weight), from_values<double>({12, 3, 4, 1}, {2, 2}));
  expect_same(bilinear(a, b, weight, from_values<double>({1, -1})), from_values<double>({13, 2, 5, 0}, {2, 2}));
  expect_same(bilinear(a.select(0, 0), b.select(0, 0), weight), from_values<double>({12, 3}));
  expect_same(bilinear(zeros({0, 2}), zeros({0, 3}), ones({5, 2, 3})), zeros({0, 5}));
  expect_error<ShapeError>("[bilinear] sizes differ: (2, 2) and (2, 3), weight (2, 3, 3)", [&] {
    (void)bilinear(a, b, ones({2, 3, 3}));
  });
  expect_error<ShapeError>("[bilinear] sizes differ: (2, 2) and (1, 3), weight (2, 2, 3)",
                           [&] { (void)bilinear(a, b.slice(0, 0, 1), weight); });
  expect_error<TensorError>("[bilinear] tensor is undefined", [&] { (void)bilinear(a, Tensor(), weight); });
}

BOOST_AUTO_TEST_CASE(local_response_norm_divides_by_the_channels_around) {
  const Tensor x = from_values<double>({1, 2, 3, 4}, {1, 4, 1});
  // Mean squares of 3 channels: (0 + 1 + 4) / 3, (1 + 4 + 9) / 3, (4 + 9 + 16) / 3, (9 + 16 + 0) / 3.
  const Tensor means = from_values<double>({5.0 / 3, 14.0 / 3, 29.0 / 3, 25.0 / 3}, {1, 4, 1});
  expect_close(local_response_norm(x, 3, 0.5, 2.0, 1.5), div(x, square(add(mul(means, 0.5), 1.5))), 1e-14);
  // Windows of 2 channels: the previous one and its own.
  const Tensor of_two = from_values<double>({0.5, 2.5, 6.5, 12.5}, {1, 4, 1});
  expect_close(local_response_norm(x, 2, 1.0, 1.0, 1.0), div(x, add(of_two, 1.0)), 1e-14);
  Generator g(1);
  const Tensor images = randn({2, 5, 3, 4}, g);
  expect_close(local_response_norm(images, 5).select(2, 1), local_response_norm(images.select(2, 1), 5), 1e-6);
  BOOST_CHECK(local_response_norm(zeros({0, 3, 2}), 2).shape() == (Shape{0, 3, 2}));
  expect_error<ShapeError>("[local_response_norm] not (n, channels, ...): (2, 3)", [] {
    (void)local_response_norm(ones({2, 3}), 2);
  });
  expect_error<ValueError>("[local_response_norm] size below 1: 0", [&] { (void)local_response_norm(x, 0); });
  expect_error<TensorError>("[local_response_norm] tensor is undefined",
                            [] { (void)local_response_norm(Tensor(), 2); });
}

BOOST_AUTO_TEST_SUITE_END()
