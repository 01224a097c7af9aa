// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/softmax_kernels.h"

#include <limits>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_softmax_kernels)

namespace {

using kernels::SoftmaxKind;

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-14 : 2e-6; }

Tensor values(const Shape& shape, DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return uniform(shape, -5.0, 5.0, generator, dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_of_every_place_and_length_are_close_to_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{3, 10, 1}, Shape{2, 7, 5}, Shape{1, 700, 2}, Shape{2, 1, 3}, Shape{0, 4, 2}}) {
      const Tensor x = values(shape, dtype, 1);
      const Tensor grad = values(shape, dtype, 2);
      for (const SoftmaxKind kind : {SoftmaxKind::plain, SoftmaxKind::logarithm}) {
        Tensor got = Tensor::empty(shape, dtype);
        Tensor expected = Tensor::empty(shape, dtype);
        cuda::softmax_with(kHost, kind, got, x);
        cpu::softmax_kernels.softmax(kind, expected, x);
        expect_close(got, expected, tolerance(dtype), 1e-12);
        Tensor slope = Tensor::empty(shape, dtype);
        Tensor expected_slope = Tensor::empty(shape, dtype);
        cuda::softmax_backward_with(kHost, kind, slope, grad, expected);
        cpu::softmax_kernels.softmax_backward(kind, expected_slope, grad, expected);
        expect_close(slope, expected_slope, tolerance(dtype), dtype == DType::f64 ? 1e-14 : 2e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(large_numbers_do_not_overflow) {
  const Tensor x = from_values<float>({-1000, 1000, 1000}, {1, 3, 1});
  Tensor got = Tensor::empty({1, 3, 1});
  cuda::softmax_with(kHost, SoftmaxKind::plain, got, x);
  expect_same(got, from_values<float>({0, 0.5, 0.5}, {1, 3, 1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
