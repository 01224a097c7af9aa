// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/pooling_kernels.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/cuda/pool_windows.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_pooling_kernels)

namespace {

using testing::parts_of;
using testing::PoolCase;
using testing::windows_of;

/// The windows over an image, along both dimensions.
struct Both {
  kernels::PoolWindows rows;
  kernels::PoolWindows columns;
  std::int64_t height;
  std::int64_t width;
};

Both regular(const PoolCase& rows, const PoolCase& columns) {
  return {windows_of(rows), windows_of(columns), rows.size, columns.size};
}
Both parts(std::int64_t height, std::int64_t rows, std::int64_t width, std::int64_t columns) {
  return {parts_of(height, rows), parts_of(width, columns), height, width};
}

/// Cases for which means are defined.
std::vector<Both> cases() {
  return {regular({.size = 6, .kernel = 2, .stride = 2}, {.size = 8, .kernel = 2, .stride = 2}),
          regular({.size = 7, .kernel = 3, .stride = 1, .padding = 1}, {.size = 5, .kernel = 2, .stride = 3}),
          regular({.size = 7, .kernel = 3, .stride = 2, .padding = 1, .counts_padding = true},
                  {.size = 8, .kernel = 3, .stride = 2, .padding = 1, .partial = true, .counts_padding = true}),
          regular({.size = 8, .kernel = 2, .stride = 3, .partial = true},
                  {.size = 7, .kernel = 5, .stride = 1, .padding = 2}),
          regular({.size = 40, .kernel = 7, .stride = 5}, {.size = 9, .kernel = 9, .stride = 1}),
          {{.begin = {0}, .end = {1}, .counted = {1}},
           windows_of({.size = 11, .kernel = 4, .stride = 2, .padding = 1}),
           1,
           11},
          parts(7, 3, 5, 2),
          parts(3, 5, 4, 4),
          parts(9, 1, 7, 1),
          parts(30, 1, 40, 2)};
}

Tensor images(const Both& c, DType dtype) {
  Generator generator(static_cast<std::uint64_t>(c.height * c.width));
  return uniform({2, 3, c.height, c.width}, -2.0, 2.0, generator, dtype);
}
Shape results(const Both& c) { return {2, 3, c.rows.count(), c.columns.count()}; }

void expect_largest(const Both& c, const Tensor& x) {
  Tensor y = Tensor::empty(results(c), x.dtype());
  Tensor where = Tensor::empty(results(c), DType::i32);
  Tensor expected_y = Tensor::empty(results(c), x.dtype());
  Tensor expected_where = Tensor::empty(results(c), DType::i32);
  cuda::max_pool_with(kHost, y, where, x, c.rows, c.columns);
  cpu::max_pool_kernels.max_pool(expected_y, expected_where, x, c.rows, c.columns);
  expect_same(y, expected_y);
  expect_same(where, expected_where);
  Generator generator(3);
  const Tensor dy = uniform(results(c), -1.0, 1.0, generator, x.dtype());
  Tensor dx = zeros(x.shape(), x.dtype());
  Tensor expected_dx = zeros(x.shape(), x.dtype());
  cuda::max_pool_backward_with(kHost, dx, dy, where);
  cpu::max_pool_kernels.max_pool_backward(expected_dx, dy, where);
  expect_same(dx, expected_dx);
  Tensor gathered = full(x.shape(), 7.0, x.dtype());
  cuda::max_pool_backward_with(kHost, gathered, dy, where, c.rows, c.columns);
  expect_same(gathered, expected_dx);
  Tensor replaced = full(x.shape(), 7.0, x.dtype());
  cpu::max_pool_kernels.max_pool_backward_of_windows(replaced, dy, where, c.rows, c.columns);
  expect_same(replaced, expected_dx);
}

}  // namespace

BOOST_AUTO_TEST_CASE(largest_elements_and_their_gradients_have_the_bits_of_the_cpus) {
  std::vector<Both> all = cases();
  all.push_back(regular({.size = 9, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2},
                        {.size = 8, .kernel = 2, .stride = 1, .padding = 1, .dilation = 3}));
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const Both& c : all) expect_largest(c, images(c, dtype));
  }
}

BOOST_AUTO_TEST_CASE(of_equal_elements_the_first_is_taken_and_nan_before_all) {
  const Both c =
      regular({.size = 7, .kernel = 3, .stride = 1, .padding = 1}, {.size = 8, .kernel = 3, .stride = 2, .padding = 1});
  for (const DType dtype : {DType::f32, DType::f64}) {
    expect_largest(c, floor(images(c, dtype)));
    expect_largest(c, full({2, 3, 7, 8}, -std::numeric_limits<double>::infinity(), dtype));
    Tensor some_nan = floor(images(c, dtype));
    some_nan.select(2, 3).slice(2, 1, 8, 3).fill(std::numeric_limits<double>::quiet_NaN());
    expect_largest(c, some_nan);
  }
}

BOOST_AUTO_TEST_CASE(means_and_their_gradients_are_the_cpus_but_for_the_last_digit) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double step = dtype == DType::f64 ? 1e-15 : 3e-7;  // a few roundings of elements below 2
    for (const Both& c : cases()) {
      const Tensor x = images(c, dtype);
      Tensor y = Tensor::empty(results(c), dtype);
      Tensor expected_y = Tensor::empty(results(c), dtype);
      cuda::avg_pool_with(kHost, y, x, c.rows, c.columns);
      cpu::avg_pool_kernels.avg_pool(expected_y, x, c.rows, c.columns);
      expect_close(y, expected_y, step, step);
      Generator generator(3);
      const Tensor dy = uniform(results(c), -1.0, 1.0, generator, dtype);
      Tensor dx = full(x.shape(), 7.0, dtype);
      Tensor expected_dx = zeros(x.shape(), dtype);
      cuda::avg_pool_backward_with(kHost, dx, dy, c.rows, c.columns);
      cpu::avg_pool_kernels.avg_pool_backward(expected_dx, dy, c.rows, c.columns);
      expect_close(dx, expected_dx, step, 4 * step);  // up to 15 windows over one element
    }
  }
}

BOOST_AUTO_TEST_CASE(short_floats_are_computed_in_f32_and_rounded_once) {
  for (const DType dtype : kDTypesOf16BitFloats) {
    for (const Both& c : cases()) {
      const Tensor x = images(c, dtype);
      Tensor y = Tensor::empty(results(c), dtype);
      Tensor wide = Tensor::empty(results(c), DType::f32);
      Tensor where = Tensor::empty(results(c), DType::i32);
      cuda::avg_pool_with(kHost, y, x, c.rows, c.columns);
      cuda::avg_pool_with(kHost, wide, x.to(DType::f32), c.rows, c.columns);
      expect_same(y, wide.to(dtype));
      cuda::max_pool_with(kHost, y, where, x, c.rows, c.columns);
      cuda::max_pool_with(kHost, wide, where, x.to(DType::f32), c.rows, c.columns);
      expect_same(y, wide.to(dtype));
      Tensor by_largest = Tensor::empty(x.shape(), dtype);
      Tensor wide_by_largest = Tensor::empty(x.shape(), DType::f32);
      cuda::max_pool_backward_with(kHost, by_largest, y, where, c.rows, c.columns);
      cuda::max_pool_backward_with(kHost, wide_by_largest, y.to(DType::f32), where, c.rows, c.columns);
      expect_same(by_largest, wide_by_largest.to(dtype));
      Tensor dx = Tensor::empty(x.shape(), dtype);
      Tensor wide_dx = Tensor::empty(x.shape(), DType::f32);
      cuda::avg_pool_backward_with(kHost, dx, y, c.rows, c.columns);
      cuda::avg_pool_backward_with(kHost, wide_dx, y.to(DType::f32), c.rows, c.columns);
      expect_same(dx, wide_dx.to(dtype));
    }
  }
}

BOOST_AUTO_TEST_CASE(many_images_are_taken_in_stretches) {
  const Tensor x = zeros({3, 4, 2, 5});
  const Tensor y = zeros({3, 4, 1, 2});
  std::vector<std::array<std::int64_t, 2>> stretches;
  cuda::for_each_stretch(
      x, y,
      [&](std::int64_t first, std::int64_t count) {
        stretches.push_back({first, count});
      },
      51);
  BOOST_CHECK((stretches == std::vector<std::array<std::int64_t, 2>>{
                                {0, 5}, {5, 5}, {10, 2}}));  // 12 images of 10, at most 50 elements
  expect_error<ShapeError>("[pooling] 2^31 elements or more in an image: (1, 1, 65536, 32768)", [] {
    (void)cuda::image_size(zeros({1, 1, 1, 1}).expand({1, 1, 65536, 32768}));
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
