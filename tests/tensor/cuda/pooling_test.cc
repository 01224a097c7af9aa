#include "tensor/kernels/pooling.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/pool.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_pooling, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::expect_same_on_gpu;
using testing::kFloats;
using testing::NeedsGpus;

Tensor images(const Shape& shape, DType dtype) {
  Generator generator(static_cast<std::uint64_t>(shape.numel()));
  return uniform(shape, -2.0, 2.0, generator, dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(largest_elements_their_places_and_gradients_are_the_cpus) {
  for (const DType dtype : kFloats) {
    for (const Shape& shape : {Shape{2, 3, 8, 10}, Shape{1, 70, 33, 65}}) {
      const Tensor x = images(shape, dtype);
      for (const MaxPool2dOptions& o :
           {MaxPool2dOptions{},
            MaxPool2dOptions{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true},
            MaxPool2dOptions{.kernel = {3, 2}, .stride = {1, 3}, .padding = {1, 0}, .dilation = {2, 1}}}) {
        expect_same_on_gpu([&](const Tensor& y) { return max_pool2d(y, o).output; }, x);
        expect_same_on_gpu([&](const Tensor& y) { return max_pool2d(y, o).where_max; }, x);
        const Tensor grad = images(max_pool2d(x, o).output.shape(), dtype);
        expect_same_on_gpu(
            [&](const Tensor& y, const Tensor& g) { return max_pool_backward(g, max_pool2d(y, o).where_max, shape); },
            x, grad);
        expect_same_on_gpu([&](const Tensor& y,
                               const Tensor& g) { return max_pool_backward(g, max_pool2d(y, o).where_max, shape, o); },
                           x, grad);
      }
      expect_same_on_gpu([](const Tensor& y) { return adaptive_max_pool2d(y, {3, 4}).output; }, x);
    }
    expect_same_on_gpu([](const Tensor& y) { return max_pool1d(y, {.kernel = 3, .stride = 2}).output; },
                       images({2, 3, 50}, dtype));
  }
}

BOOST_AUTO_TEST_CASE(means_and_their_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = testing::tolerance_of(dtype);
    for (const Shape& shape : {Shape{2, 3, 8, 10}, Shape{1, 70, 33, 65}}) {
      const Tensor x = images(shape, dtype);
      for (const AvgPool2dOptions& o :
           {AvgPool2dOptions{},
            AvgPool2dOptions{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true},
            AvgPool2dOptions{.kernel = {7, 7}, .stride = {1, 2}, .padding = {3, 0}, .count_include_pad = false}}) {
        expect_close_on_gpu(
            rtol, rtol, [&](const Tensor& y) { return avg_pool2d(y, o); }, x);
        const Tensor grad = images(avg_pool2d(x, o).shape(), dtype);
        expect_close_on_gpu(
            rtol, 4 * rtol, [&](const Tensor& g) { return avg_pool2d_backward(g, shape, o); }, grad);
      }
      for (const Size2d& size : {Size2d{1, 1}, Size2d{3, 4}, Size2d{8, 5}}) {
        expect_close_on_gpu(
            rtol, rtol, [&](const Tensor& y) { return adaptive_avg_pool2d(y, size); }, x);
        const Tensor grad = images({shape[0], shape[1], size[0], size[1]}, dtype);
        expect_close_on_gpu(
            rtol, 4 * rtol, [&](const Tensor& g) { return adaptive_avg_pool2d_backward(g, shape); }, grad);
      }
    }
    expect_close_on_gpu(
        rtol, rtol, [](const Tensor& y) { return avg_pool1d(y, {.kernel = 3, .stride = 2}); },
        images({2, 3, 50}, dtype));
  }
}

BOOST_AUTO_TEST_CASE(a_place_outside_of_the_image_is_refused) {
  const Tensor grad = ones({1, 1, 1, 1}).to(testing::kGpu);
  const Tensor place = from_values<std::int32_t>({16}, {1, 1, 1, 1}).to(testing::kGpu);
  expect_error<IndexError>("[max_pool_backward] index out of range: 16 of 16", [&] {
    (void)max_pool_backward(grad, place, {1, 1, 4, 4});
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
