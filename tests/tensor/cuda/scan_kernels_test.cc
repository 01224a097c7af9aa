// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/scan_kernels.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_scan_kernels)

BOOST_AUTO_TEST_CASE(running_sums_are_those_of_the_cpu_from_either_end) {
  Generator generator(1);
  for (const DType dtype : {DType::i64, DType::f32, DType::f64}) {
    for (const Shape& shape :
         {Shape{2, 9, 3}, Shape{3, 2000, 1}, Shape{2, 513, 4}, Shape{1, 1, 1}, Shape{2, 0, 3}, Shape{1, 512, 1}}) {
      // Whole numbers: sums are exact for every partition.
      const Tensor x = floor(uniform(shape, -50.0, 50.0, generator, DType::f64)).to(dtype);
      for (const kernels::Direction direction : {kernels::Direction::forward, kernels::Direction::backward}) {
        Tensor got = Tensor::empty(shape, dtype);
        Tensor expected = Tensor::empty(shape, dtype);
        cuda::cumsum_with(kHost, got, x, direction);
        cpu::scan_kernels.cumsum(expected, x, direction);
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(running_products_are_those_of_the_cpu) {
  Generator generator(2);
  for (const DType dtype : {DType::i64, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{2, 9, 3}, Shape{3, 2000, 1}, Shape{2, 0, 3}}) {
      // Signs: products are exact for every partition.
      const Tensor x = sub(mul(gt(uniform(shape, -1.0, 1.0, generator), 0.0).to(dtype), 2.0), 1.0);
      Tensor got = Tensor::empty(shape, dtype);
      Tensor expected = Tensor::empty(shape, dtype);
      cuda::cumprod_with(kHost, got, x);
      cpu::scan_kernels.cumprod(expected, x);
      expect_same(got, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_largest_so_far_is_where_the_cpu_has_it) {
  Generator generator(3);
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{2, 9, 3}, Shape{3, 2000, 1}, Shape{2, 513, 4}, Shape{1, 1, 1}, Shape{2, 0, 3}}) {
      Tensor x = floor(uniform(shape, -50.0, 50.0, generator, DType::f64)).to(dtype);  // some elements are equal
      if (is_floating(dtype))
        x = where(lt(uniform(shape, 0.0, 1.0, generator), 1e-3),
                  full({}, std::numeric_limits<double>::quiet_NaN(), dtype), x);
      for (const kernels::Extreme extreme : {kernels::Extreme::largest, kernels::Extreme::smallest}) {
        Tensor got = Tensor::empty(shape, DType::i64);
        Tensor expected = Tensor::empty(shape, DType::i64);
        cuda::cumulative_argument_with(kHost, extreme, got, x);
        cpu::scan_kernels.cumulative_argument(extreme, expected, x);
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
