// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/group_norm_kernels.h"

#include "tensor/create.h"
#include "tensor/kernels/normalization.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_group_norm_kernels)

namespace {

using testing::random_values;

constexpr double kEps = 1e-5;

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-12 : 2e-5; }

void expect_as_on_cpu(const Shape& shape, DType dtype) {
  const Tensor x = random_values(shape, dtype, 1, 90.0, 110.0);
  const Tensor weight = random_values({shape[1] * shape[2]}, dtype, 2);
  const Tensor bias = random_values({shape[1] * shape[2]}, dtype, 3);
  const auto room = [&] { return Tensor::empty(shape, dtype); };
  const auto moments = [&] { return Tensor::empty({shape[0], shape[1]}, DType::f64); };
  Tensor got = room();
  Tensor got_mean = moments();
  Tensor got_var = moments();
  Tensor expected = room();
  Tensor mean = moments();
  Tensor var = moments();
  cuda::group_norm_with(kHost, got, got_mean, got_var, x, weight, bias, kEps);
  cpu::group_norm_kernels.group_norm(expected, mean, var, x, weight, bias, kEps);
  expect_close(got_mean, mean, 1e-14);
  expect_close(got_var, var, 1e-12, 1e-12);
  expect_close(got, expected, tolerance(dtype), tolerance(dtype));

  const Tensor grad = random_values(shape, dtype, 4);
  const auto by_channel = [&] { return Tensor::empty(weight.shape(), DType::f64); };
  Tensor by_x = room();
  Tensor by_weight = by_channel();
  Tensor by_bias = by_channel();
  Tensor expected_x = room();
  Tensor expected_weight = by_channel();
  Tensor expected_bias = by_channel();
  cuda::group_norm_backward_with(kHost, by_x, by_weight, by_bias, {grad, x, mean, var, weight}, kEps);
  cpu::group_norm_kernels.group_norm_backward(expected_x, expected_weight, expected_bias, grad, x, mean, var, weight,
                                              kEps);
  expect_close(by_x, expected_x, 4 * tolerance(dtype), 4 * tolerance(dtype));
  // Up to 2000 terms of size 1 each.
  expect_close(by_weight, expected_weight, 10 * tolerance(dtype), 100 * tolerance(dtype));
  expect_close(by_bias, expected_bias, 10 * tolerance(dtype), 100 * tolerance(dtype));
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_gradients_of_rows_with_a_weight_for_each_element_are_close_to_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape :
         {Shape{9, 1, 17, 1}, Shape{5, 1, 700, 1}, Shape{2048, 1, 520, 1}, Shape{2000, 1, 3, 1}, Shape{40, 3, 4, 1}})
      expect_as_on_cpu(shape, dtype);
  }
}

BOOST_AUTO_TEST_CASE(values_and_gradients_of_channels_are_close_to_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{3, 2, 4, 5}, Shape{40, 2, 1, 6}, Shape{2, 3, 2, 300}, Shape{20, 1, 1, 50}})
      expect_as_on_cpu(shape, dtype);
  }
}

BOOST_AUTO_TEST_CASE(one_element_has_no_variance_and_becomes_the_bias) {
  const Tensor x = from_values<double>({7.0}, {1, 1, 1, 1});
  Tensor out = Tensor::empty(x.shape(), DType::f64);
  Tensor mean = Tensor::empty({1, 1}, DType::f64);
  Tensor var = Tensor::empty({1, 1}, DType::f64);
  cuda::group_norm_with(kHost, out, mean, var, x, full({1}, 2.0, DType::f64), full({1}, 3.0, DType::f64), kEps);
  expect_same(out, from_values<double>({3.0}, {1, 1, 1, 1}));
  expect_same(mean, from_values<double>({7.0}, {1, 1}));
  expect_same(var, from_values<double>({0.0}, {1, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
