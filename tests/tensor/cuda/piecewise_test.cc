#include "tensor/kernels/piecewise.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_piecewise, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::tolerance_of;

Tensor values(DType dtype, std::uint64_t seed) {
  Generator generator(seed);
  return uniform({4, 5, 600}, -3.0, 3.0, generator, dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(activations_in_pieces_and_their_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = tolerance_of(dtype);
    const Tensor grad = values(dtype, 2);
    for (const Tensor& x : layouts_of(values(dtype, 1))) {
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& y) { return leaky_relu(y, 0.3); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& y) { return elu(y, 0.3); }, x);
      expect_close_on_gpu(
          0.0, 0.0, [](const Tensor& y) { return hardtanh(y, -0.5, 2.0); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& y) { return celu(y, 0.3); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& y) { return selu(y); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& y) { return hardswish(y * 2.0); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& g, const Tensor& y) { return hardswish_backward(g, y); }, grad, x);
      expect_close_on_gpu(
          0.0, 0.0, [](const Tensor& y) { return softshrink(y); }, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& g, const Tensor& y) { return leaky_relu_backward(g, y, 0.3); }, grad, x);
      expect_close_on_gpu(
          rtol, 0.0, [](const Tensor& g, const Tensor& y) { return elu_backward(g, y, 0.3); }, grad, x);
      expect_close_on_gpu(
          0.0, 0.0, [](const Tensor& g, const Tensor& y) { return hardtanh_backward(g, y, -0.5, 2.0); }, grad, x);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
