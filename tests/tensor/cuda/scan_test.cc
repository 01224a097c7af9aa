#include "tensor/kernels/scan.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/scan.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_scan, *boost::unit_test::precondition(testing::NeedsGpus{1}))

BOOST_AUTO_TEST_CASE(running_sums_are_those_of_the_cpu) {
  Generator generator(1);
  for (const DType dtype : kDTypes) {
    // Whole numbers: sums are exact for every partition.
    const Tensor numbers = floor(uniform({3, 5, 1100}, -3.0, 4.0, generator, DType::f64)).to(dtype);
    for (const Tensor& x : testing::layouts_of(numbers)) {
      for (const int dim : {0, 1, 2}) {
        testing::expect_same_on_gpu([dim](const Tensor& y) { return cumsum(y, dim); }, x);
        testing::expect_same_on_gpu([dim](const Tensor& y) { return cumsum_backward(y, dim); }, x);
        testing::expect_same_on_gpu([dim](const Tensor& y) { return cumprod(sign(y.to(DType::f32)), dim); }, x);
        testing::expect_same_on_gpu([dim](const Tensor& y) { return cummax(y, dim).indices; }, x);
        testing::expect_same_on_gpu([dim](const Tensor& y) { return cummin(y, dim).indices; }, x);
      }
    }
  }
  testing::expect_same_on_gpu([](const Tensor& y) { return cumsum(y, 0); }, zeros({0, 2}));
  testing::expect_same_on_gpu([](const Tensor& y) { return cumsum(y, 0); }, ones({1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
