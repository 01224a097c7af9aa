// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/batch_norm_kernels.h"

#include <limits>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_batch_norm_kernels)

namespace {

using cuda::ChannelParts;
using cuda::ChannelSizes;
using kernels::Moments;
using testing::random_values;

constexpr double kEps = 1e-5;

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : 2e-5; }

/// The sums of a channel, and a part with one number per channel.
struct Sums {
  Tensor first;
  Tensor second;
  explicit Sums(std::int64_t channels)
      : first(Tensor::empty({channels}, DType::f64)), second(Tensor::empty({channels}, DType::f64)) {}
};

void expect_as_on_cpu(const Shape& shape, DType dtype, Moments moments) {
  // Far from 0: the kernels sum differences from the mean.
  const Tensor x = random_values(shape, dtype, 1, 90.0, 110.0);
  const Tensor weight = random_values({shape[1]}, dtype, 2);
  const Tensor bias = random_values({shape[1]}, dtype, 3);
  const Tensor grad = random_values(shape, dtype, 4);
  Tensor got = Tensor::empty(shape, dtype);
  Tensor expected = Tensor::empty(shape, dtype);
  Sums got_moments(shape[1]);
  if (moments == Moments::given) {
    got_moments.first = random_values({shape[1]}, DType::f64, 5, 95.0, 105.0);
    got_moments.second = random_values({shape[1]}, DType::f64, 6, 20.0, 40.0);
  }
  Sums moments_of(shape[1]);
  moments_of.first = got_moments.first.clone();
  moments_of.second = got_moments.second.clone();
  cuda::batch_norm_with(kHost, moments, got, got_moments.first, got_moments.second, x, weight, bias, kEps);
  cpu::batch_norm_kernels.batch_norm(moments, expected, moments_of.first, moments_of.second, x, weight, bias, kEps);
  expect_close(got_moments.first, moments_of.first, 1e-14);
  expect_close(got_moments.second, moments_of.second, 1e-12, 1e-12);
  expect_close(got, expected, tolerance(dtype), tolerance(dtype));

  Tensor by_x = Tensor::empty(shape, dtype);
  Tensor expected_x = Tensor::empty(shape, dtype);
  Sums by(shape[1]);
  Sums expected_by(shape[1]);
  cuda::batch_norm_backward_with(kHost, moments, by_x, by.first, by.second,
                                 {grad, x, moments_of.first, moments_of.second, weight}, kEps);
  cpu::batch_norm_kernels.batch_norm_backward(moments, expected_x, expected_by.first, expected_by.second, grad, x,
                                              moments_of.first, moments_of.second, weight, kEps);
  expect_close(by_x, expected_x, tolerance(dtype), tolerance(dtype));
  expect_close(by.first, expected_by.first, 1e-12, 1e-11);
  expect_close(by.second, expected_by.second, 1e-12, 1e-11);
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_gradients_are_close_to_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Moments moments : {Moments::computed, Moments::given}) {
      for (const Shape& shape :
           {Shape{64, 5, 1}, Shape{2, 3, 4}, Shape{3000, 2, 1}, Shape{9, 3, 31}, Shape{9, 3, 32}, Shape{5, 4, 700},
            Shape{1, 2, 9000}, Shape{2, 1, 1}, Shape{40, 7, 300}, Shape{5, 3, 5003}}) {
        expect_as_on_cpu(shape, dtype, moments);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_channel_of_equal_elements_becomes_the_bias) {
  const Tensor x = full({4, 1, 3}, 7.0, DType::f64);
  Tensor out = Tensor::empty(x.shape(), DType::f64);
  Sums moments(1);
  cuda::batch_norm_with(kHost, Moments::computed, out, moments.first, moments.second, x, full({1}, 2.0, DType::f64),
                        full({1}, 3.0, DType::f64), kEps);
  expect_same(out, full({4, 1, 3}, 3.0, DType::f64));
  expect_same(moments.first, full({1}, 7.0, DType::f64));
  expect_same(moments.second, full({1}, 0.0, DType::f64));
}

BOOST_AUTO_TEST_CASE(parts_cover_a_channel_and_there_is_work_for_every_multiprocessor) {
  const auto parts_of = [](const Shape& shape) { return ChannelParts(ChannelSizes(zeros({1}).expand(shape))); };
  // 32 channels of 2 runs of 2^18 elements: 64 parts are needed, 2 along the outer and 32 along the inner dimension.
  const ChannelParts large = parts_of({2, 32, 1 << 18});
  BOOST_TEST((!large.by_columns && large.outer_step == 1 && large.inner_step == 1 << 13 && large.across == 32 &&
              large.count == 64));
  // No part has fewer than 4096 inner elements.
  BOOST_TEST(parts_of({1, 2, 9000}).inner_step == 3000);
  // 4096 rows of 8 channels: 256 parts of 16 rows each.
  const ChannelParts columns = parts_of({4096, 8, 1});
  BOOST_TEST((columns.by_columns && columns.outer_step == 16 && columns.across == 1 && columns.count == 256));
  BOOST_TEST(parts_of({64, 256, 49}).count == 8);  // 2048 teams
  BOOST_TEST(parts_of({3, 1, 1}).count == 1);
}

BOOST_AUTO_TEST_CASE(given_moments_at_an_infinite_distance_do_not_change_the_gradient) {
  for (const Shape& shape : {Shape{2, 1, 1}, Shape{2, 1, 512}}) {
    const Tensor x = full(shape, std::numeric_limits<double>::infinity());
    const Tensor zero = zeros({1}, DType::f64);
    const Tensor var = full({1}, 0.25, DType::f64);
    Tensor by_x = Tensor::empty(shape);
    Sums by(1);
    cuda::batch_norm_backward_with(kHost, Moments::given, by_x, by.first, by.second,
                                   {ones(shape), x, zero, var, full({1}, 3.0)}, 0.0);
    expect_same(by_x, full(shape, 6.0));  // 3 / 0.5
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
