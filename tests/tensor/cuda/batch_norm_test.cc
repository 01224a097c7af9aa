#include "tensor/kernels/normalization.h"

#include "tensor/create.h"
#include "tensor/ops/norm.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_batch_norm, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::NeedsGpus;
using testing::random_values;
using testing::tolerance_of;

}  // namespace

BOOST_AUTO_TEST_CASE(values_running_statistics_and_gradients_are_close_to_the_cpus) {
  const Tensor weight = random_values({12}, DType::f32, 2);
  const Tensor running = random_values({12}, DType::f32, 3, 1.0, 2.0);
  for (const DType dtype : kFloats) {
    const double rtol = 100 * tolerance_of(dtype);
    for (const Shape& shape : {Shape{14, 12}, Shape{14, 12, 7, 5}, Shape{3, 12, 70, 65}}) {
      const Tensor x = random_values(shape, dtype, 1);
      const Tensor grad = random_values(shape, dtype, 4);
      for (const NormStatistics statistics : {NormStatistics::batch, NormStatistics::running}) {
        const BatchNormOptions options{.statistics = statistics};
        const auto forward = [&](const Tensor& y, const Tensor& w, const Tensor& r) {
          return batch_norm(y, {r, r}, w, w, options);
        };
        expect_close_on_gpu(
            rtol, rtol, [&](const Tensor& y, const Tensor& w, const Tensor& r) { return forward(y, w, r).norm.output; },
            x, weight, running);
        expect_close_on_gpu(
            rtol, rtol,
            [&](const Tensor& y, const Tensor& w, const Tensor& r) { return forward(y, w, r).running.mean; }, x, weight,
            running);
        expect_close_on_gpu(
            rtol, rtol, [&](const Tensor& y, const Tensor& w, const Tensor& r) { return forward(y, w, r).running.var; },
            x, weight, running);
        for (const int part : {0, 1, 2}) {
          const auto slope = [&](const Tensor& y, const Tensor& w, const Tensor& r, const Tensor& g) {
            const NormGradients by = batch_norm_backward(g, y, forward(y, w, r).norm, w, options);
            return part == 0 ? by.x : part == 1 ? by.weight : by.bias;
          };
          expect_close_on_gpu(rtol, 20 * rtol, slope, x, weight, running, grad);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
