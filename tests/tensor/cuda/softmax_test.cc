#include "tensor/kernels/softmax.h"

#include "tensor/create.h"
#include "tensor/ops/nn.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_softmax, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::tolerance_of;

Tensor values(DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return uniform({4, 9, 600}, -5.0, 5.0, generator, dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_and_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = 4 * tolerance_of(dtype);
    for (const Tensor& x : layouts_of(values(dtype, 1))) {
      for (const int dim : {0, 1, 2}) {
        expect_close_on_gpu(
            rtol, 1e-6, [dim](const Tensor& y) { return softmax(y, dim); }, x);
        expect_close_on_gpu(
            rtol, 1e-6, [dim](const Tensor& y) { return log_softmax(y, dim); }, x);
        const Tensor grad = values(dtype, 2);
        const auto slope = [dim](const Tensor& g, const Tensor& y) { return softmax_backward(g, y, dim); };
        const auto log_slope = [dim](const Tensor& g, const Tensor& y) { return log_softmax_backward(g, y, dim); };
        expect_close_on_gpu(rtol, 1e-5, slope, grad, softmax(x, dim));
        expect_close_on_gpu(rtol, 1e-5, log_slope, grad, log_softmax(x, dim));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_and_one_element) {
  expect_close_on_gpu(
      0.0, 0.0, [](const Tensor& y) { return softmax(y, 1); }, zeros({0, 3}));
  expect_close_on_gpu(
      0.0, 0.0, [](const Tensor& y) { return softmax(y, 0); }, zeros({1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
