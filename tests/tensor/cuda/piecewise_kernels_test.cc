// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/piecewise_kernels.h"

#include <limits>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_piecewise_kernels)

namespace {

using kernels::PiecewiseOp;

/// Returns values that include 0 and the bounds of `between`, and no NaN.
Tensor values(std::int64_t size, DType dtype) {
  Generator generator(3);
  Tensor x = uniform({size}, -4.0, 4.0, generator, dtype);
  if (size < 4) return x;
  x.slice(0, 0, 1).fill(0.0);
  x.slice(0, 1, 2).fill(-1.0);
  x.slice(0, 2, 3).fill(2.0);
  return x;
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_slopes_are_close_to_the_cpus) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double tolerance = dtype == DType::f64 ? 1e-15 : 1e-6;
    for (const std::int64_t size : {0, 1, 700}) {
      const Tensor x = values(size, dtype);
      Generator generator(4);
      const Tensor g = uniform({size}, -3.0, 3.0, generator, dtype);
      Tensor got = Tensor::empty({size}, dtype);
      Tensor expected = Tensor::empty({size}, dtype);
      for (int number = 0; number <= static_cast<int>(PiecewiseOp::hardswish); ++number) {
        const auto op = static_cast<PiecewiseOp>(number);
        cuda::piecewise_with(kHost, op, got, x, 0.3);
        cpu::piecewise_kernels.piecewise(op, expected, x, 0.3);
        expect_close(got, expected, tolerance);
        cuda::piecewise_backward_with(kHost, op, got, g, x, 0.3);
        cpu::piecewise_kernels.piecewise_backward(op, expected, g, x, 0.3);
        expect_close(got, expected, tolerance);
      }
      cuda::between_with(kHost, got, g, x, -1.0, 2.0);
      cpu::piecewise_kernels.between(expected, g, x, -1.0, 2.0);
      expect_same(got, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_number_stays_so_and_lets_gradients_through_between) {
  const Tensor x = full({1}, std::numeric_limits<double>::quiet_NaN());
  Tensor got = Tensor::empty({1});
  for (const PiecewiseOp op : {PiecewiseOp::leaky_relu, PiecewiseOp::elu}) {
    cuda::piecewise_with(kHost, op, got, x, 0.3);
    BOOST_TEST(std::isnan(got.item()));
  }
  cuda::between_with(kHost, got, ones({1}), x, -1.0, 2.0);
  BOOST_TEST(got.item() == 1.0);
  cuda::piecewise_backward_with(kHost, PiecewiseOp::hardsigmoid, got, ones({1}), x, 0.0);
  BOOST_TEST(got.item() == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
