#include "tensor/kernels/normalization.h"

#include "tensor/create.h"
#include "tensor/ops/norm.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_group_norm, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::random_values;
using testing::tolerance_of;

}  // namespace

BOOST_AUTO_TEST_CASE(layer_norm_and_its_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = 100 * tolerance_of(dtype);
    const Tensor weight = random_values({600}, DType::f32, 2);
    for (const Tensor& x : layouts_of(random_values({14, 9, 600}, dtype, 1))) {
      expect_close_on_gpu(
          rtol, rtol, [](const Tensor& y, const Tensor& w) { return layer_norm(y, {600}, w, w).output; }, x, weight);
      for (const int part : {0, 1, 2}) {
        const auto slope = [part](const Tensor& y, const Tensor& w, const Tensor& grad) {
          const NormGradients by = layer_norm_backward(grad, y, layer_norm(y, {600}, w, w), {600}, w);
          return part == 0 ? by.x : part == 1 ? by.weight : by.bias;
        };
        expect_close_on_gpu(rtol, 20 * rtol, slope, x, weight, random_values({14, 9, 600}, dtype, 3));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(group_and_instance_norm_and_their_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = 100 * tolerance_of(dtype);
    const Tensor weight = random_values({12}, DType::f32, 2);
    for (const std::int64_t inner : {1, 5, 600}) {
      const Tensor x = random_values({14, 12, inner}, dtype, 1);
      for (const std::int64_t groups : {1, 3, 12}) {
        if (inner * 12 == groups) continue;  // one element per group: a constant result
        expect_close_on_gpu(
            rtol, rtol, [groups](const Tensor& y, const Tensor& w) { return group_norm(y, groups, w, w).output; }, x,
            weight);
        for (const int part : {0, 1, 2}) {
          const auto slope = [part, groups](const Tensor& y, const Tensor& w, const Tensor& grad) {
            const NormGradients by = group_norm_backward(grad, y, group_norm(y, groups, w, w), groups, w);
            return part == 0 ? by.x : part == 1 ? by.weight : by.bias;
          };
          expect_close_on_gpu(rtol, 20 * rtol, slope, x, weight, random_values({14, 12, inner}, dtype, 3));
        }
      }
      if (inner > 1)
        expect_close_on_gpu(
            rtol, rtol, [](const Tensor& y, const Tensor& w) { return instance_norm(y, w, w).output; }, x, weight);
    }
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_normalised_to_nothing) {
  expect_close_on_gpu(
      0.0, 0.0, [](const Tensor& y) { return layer_norm(y, {3}).output; }, zeros({0, 3}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
