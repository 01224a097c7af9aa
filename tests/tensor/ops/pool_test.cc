#include "tensor/ops/pool.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_pool)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Every window is a shifted slice of the padded image.
Tensor shifted(const Tensor& image, std::int64_t row, std::int64_t col, const Size2d& out, const Size2d& stride) {
  return image.slice(2, row, row + (out[0] - 1) * stride[0] + 1, stride[0])
      .slice(3, col, col + (out[1] - 1) * stride[1] + 1, stride[1]);
}

// 1 to 16 in rows of 4.
Tensor sixteen(DType dtype) { return arange(1.0, 17.0, 1.0).reshape({1, 1, 4, 4}).to(dtype); }

const std::vector<MaxPool2dOptions> kMaxCases = {
    {},
    {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
    {.kernel = {3, 2}, .stride = {1, 3}, .padding = {0, 1}},
    {.kernel = {2, 2}, .stride = {3, 3}},
    {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 0}, .dilation = {2, 3}},
    {.kernel = {1, 1}, .stride = {2, 1}}};

}  // namespace

BOOST_AUTO_TEST_CASE(max_pooling_takes_the_largest_of_each_window) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_values<float>({1, 2, 3, 4,      //
                                         5, 9, 7, 8,      //
                                         -1, -2, -3, -4,  //
                                         -5, -6, -7, -8},
                                        {1, 1, 4, 4})
                         .to(dtype);
    const auto [y, where_max] = max_pool2d(x);
    expect_same(y, from_values<float>({9, 8, -1, -3}, {1, 1, 2, 2}).to(dtype));
    expect_same(where_max, from_values<std::int32_t>({5, 7, 8, 10}, {1, 1, 2, 2}));
    const Tensor grad = from_values<float>({10, 20, 30, 40}, {1, 1, 2, 2}).to(dtype);
    expect_same(max_pool_backward(grad, where_max, x.shape()), from_values<float>({0, 0, 0, 0,    //
                                                                                   0, 10, 0, 20,  //
                                                                                   30, 0, 40, 0,  //
                                                                                   0, 0, 0, 0},
                                                                                  {1, 1, 4, 4})
                                                                   .to(dtype));
  }
}

BOOST_AUTO_TEST_CASE(of_equal_elements_the_first_is_the_largest) {
  const Tensor x = from_values<float>({0, 7, 3,  //
                                       7, 0, 7,  //
                                       7, 7, 7},
                                      {1, 1, 3, 3});
  expect_same(max_pool2d(x, {.kernel = {3, 3}}).where_max, from_values<std::int32_t>({1}, {1, 1, 1, 1}));
  expect_same(max_pool2d(x, {.kernel = {2, 2}, .stride = {1, 1}}).where_max,
              from_values<std::int32_t>({1, 1, 3, 5}, {1, 1, 2, 2}));
  const Tensor diagonal = from_values<float>({0, 7, 7, 0}, {1, 1, 2, 2});
  expect_same(max_pool2d(diagonal).where_max, from_values<std::int32_t>({1}, {1, 1, 1, 1}));
  // Padding is never the maximum, even if no element is larger.
  const MaxPool2dOptions padded{.kernel = {2, 3}, .stride = {1, 1}, .padding = {1, 1}};
  expect_same(max_pool2d(full({1, 1, 2, 2}, -kInfinity), padded).where_max,
              from_values<std::int32_t>({0, 0, 0, 0, 2, 2}, {1, 1, 3, 2}));
}

BOOST_AUTO_TEST_CASE(max_pooling_follows_the_definition) {
  Generator g(5);
  for (const MaxPool2dOptions& o : kMaxCases) {
    // The second image has more rows than are processed at once.
    const Tensor x = randn(o.stride[0] == 1 ? Shape{1, 2, 97, 90} : Shape{2, 3, 9, 8}, g, DType::f64);
    const auto [y, where_max] = max_pool2d(x, o);
    const Tensor image = pad(x, {o.padding[1], o.padding[1], o.padding[0], o.padding[0]}, -kInfinity);
    Tensor expected = full(y.shape(), -kInfinity, DType::f64);
    for (std::int64_t i = 0; i < o.kernel[0]; ++i) {
      for (std::int64_t j = 0; j < o.kernel[1]; ++j) {
        expected =
            maximum(expected, shifted(image, i * o.dilation[0], j * o.dilation[1], {y.size(2), y.size(3)}, o.stride));
      }
    }
    expect_same(y, expected);
    const auto [y32, where_max32] = max_pool2d(x.to(DType::f32), o);
    expect_same(y32, expected.to(DType::f32));
    // Whole numbers, whose sums are exact in any order.
    const Tensor grad = randint(1, 100, y.shape(), g).to(DType::f64);
    const Tensor dx = max_pool_backward(grad, where_max, x.shape());
    expect_close(sum(dx * x), sum(grad * y), 1e-12);
    expect_same(max_pool_backward(grad.to(DType::f32), where_max32, x.shape()), dx.to(DType::f32));
  }
}

BOOST_AUTO_TEST_CASE(a_window_with_a_nan_has_it) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor x = sixteen(dtype);
    x.select(2, 1).select(2, 1).fill(kNaN);  // row 1, column 1
    x.select(2, 0).select(2, 1).fill(kInfinity);
    const auto [y, where_max] = max_pool2d(x);
    expect_same(isnan(y), from_values<bool>({true, false, false, false}, {1, 1, 2, 2}));
    expect_same(where_max, from_values<std::int32_t>({5, 7, 13, 15}, {1, 1, 2, 2}));
    BOOST_CHECK(isnan(avg_pool2d(x)).select(2, 0).select(2, 0).item<bool>());
  }
}

BOOST_AUTO_TEST_CASE(average_pooling_gives_the_hand_values) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = sixteen(dtype);
    // (1 + 2 + 5 + 6) / 4, ...
    expect_same(avg_pool2d(x), from_values<float>({3.5, 5.5, 11.5, 13.5}, {1, 1, 2, 2}).to(dtype));
    const AvgPool2dOptions padded{.kernel = {2, 2}, .stride = {3, 3}, .padding = {1, 1}};
    // 1 / 4, (3 + 4) / 4, (9 + 13) / 4, (11 + 12 + 15 + 16) / 4
    expect_same(avg_pool2d(x, padded), from_values<float>({0.25, 1.75, 5.5, 13.5}, {1, 1, 2, 2}).to(dtype));
    AvgPool2dOptions inside = padded;
    inside.count_include_pad = false;
    expect_same(avg_pool2d(x, inside), from_values<float>({1, 3.5, 11, 13.5}, {1, 1, 2, 2}).to(dtype));
    const Tensor grad = from_values<float>({4, 8, 16, 32}, {1, 1, 2, 2}).to(dtype);
    expect_same(avg_pool2d_backward(grad, x.shape(), padded), from_values<float>({1, 0, 2, 2,  //
                                                                                  0, 0, 0, 0,  //
                                                                                  4, 0, 8, 8,  //
                                                                                  4, 0, 8, 8},
                                                                                 {1, 1, 4, 4})
                                                                  .to(dtype));
    expect_same(avg_pool2d_backward(grad, x.shape(), inside), from_values<float>({4, 0, 4, 4,  //
                                                                                  0, 0, 0, 0,  //
                                                                                  8, 0, 8, 8,  //
                                                                                  8, 0, 8, 8},
                                                                                 {1, 1, 4, 4})
                                                                  .to(dtype));
  }
}

BOOST_AUTO_TEST_CASE(average_pooling_follows_the_definition) {
  Generator g(7);
  for (const MaxPool2dOptions& window : kMaxCases) {
    if (window.dilation != Size2d{1, 1}) continue;
    const AvgPool2dOptions o{.kernel = window.kernel, .stride = window.stride, .padding = window.padding};
    const Tensor x = randn(o.stride[0] == 1 ? Shape{1, 2, 97, 90} : Shape{2, 3, 9, 8}, g, DType::f64);
    const Tensor y = avg_pool2d(x, o);
    const Tensor image = pad(x, {o.padding[1], o.padding[1], o.padding[0], o.padding[0]});
    Tensor expected = zeros(y.shape(), DType::f64);
    for (std::int64_t i = 0; i < o.kernel[0]; ++i) {
      for (std::int64_t j = 0; j < o.kernel[1]; ++j) {
        expected = expected + shifted(image, i, j, {y.size(2), y.size(3)}, o.stride);
      }
    }
    expected = expected / static_cast<double>(o.kernel[0] * o.kernel[1]);
    expect_close(y, expected, 1e-14, 1e-14);
    expect_close(avg_pool2d(x.to(DType::f32), o), avg_pool2d(x.to(DType::f32).to(DType::f64), o).to(DType::f32), 2e-7);
    // A mean is linear: <dy, mean(x)> = <dx, x> for every dy.
    const Tensor grad = randn(y.shape(), g, DType::f64);
    const Tensor dx = avg_pool2d_backward(grad, x.shape(), o);
    expect_close(sum(dx * x), sum(grad * y), 1e-11, 1e-11);
    expect_close(avg_pool2d_backward(grad.to(DType::f32), x.shape(), o), dx.to(DType::f32), 0, 2e-6);
  }
}

BOOST_AUTO_TEST_CASE(a_partial_last_window_counts_in_ceil_mode) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5}, {1, 1, 5});
  expect_same(max_pool1d(x).output, from_values<float>({2, 4}, {1, 1, 2}));
  expect_same(max_pool1d(x, {.ceil_mode = true}).output, from_values<float>({2, 4, 5}, {1, 1, 3}));
  // Elements beyond the image and its padding never count: 5 / 1, not 5 / 2.
  expect_same(avg_pool1d(x, {.ceil_mode = true}), from_values<float>({1.5, 3.5, 5}, {1, 1, 3}));
  // (0 + 1) / 2, (2 + 3) / 2, (4 + 5) / 2: a fourth window would begin in the padding after the line.
  expect_same(avg_pool1d(x, {.padding = 1, .ceil_mode = true}), from_values<float>({0.5, 2.5, 4.5}, {1, 1, 3}));
  // (4 + 5 + 0) / 3: the third window extends one beyond the padding, so two of its four elements do not count.
  expect_same(avg_pool1d(x, {.kernel = 4, .stride = 4, .padding = 1, .ceil_mode = true}),
              from_values<float>({1.5, 3}, {1, 1, 2}));
}

BOOST_AUTO_TEST_CASE(a_line_pools_like_an_image_of_one_row) {
  const Tensor x = from_values<float>({3, 1, 4, 1, 5, 9, 2, 6}, {1, 2, 4});
  const auto [y, where_max] = max_pool1d(x, {.kernel = 3, .stride = 1});
  expect_same(y, from_values<float>({4, 4, 9, 9}, {1, 2, 2}));
  expect_same(where_max, from_values<std::int32_t>({2, 2, 1, 1}, {1, 2, 2}));
  const Tensor by_x = from_values<float>({0, 0, 2, 0, 0, 2, 0, 0}, {1, 2, 4});
  expect_same(max_pool_backward(ones({1, 2, 2}), where_max, x.shape()), by_x);
  expect_same(max_pool_backward(ones({1, 2, 2}), where_max, x.shape(), MaxPool1dOptions{.kernel = 3, .stride = 1}),
              by_x);
  expect_same(avg_pool1d(x), from_values<float>({2, 2.5, 7, 4}, {1, 2, 2}));
  expect_same(avg_pool1d_backward(from_values<float>({2, 4, 6, 8}, {1, 2, 2}), x.shape()),
              from_values<float>({1, 1, 2, 2, 3, 3, 4, 4}, {1, 2, 4}));
  expect_same(adaptive_avg_pool1d(x, 2), avg_pool1d(x));
  expect_same(adaptive_avg_pool1d(x, 1), from_values<float>({2.25, 5.5}, {1, 2, 1}));
}

BOOST_AUTO_TEST_CASE(adaptive_windows_cover_the_image) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5}, {1, 1, 5});
  // 5 elements in 3 parts: [0, 2), [1, 4), [3, 5)
  expect_same(adaptive_avg_pool1d(x, 3), from_values<float>({1.5, 3, 4.5}, {1, 1, 3}));
  expect_same(adaptive_avg_pool1d_backward(from_values<float>({2, 6, 10}, {1, 1, 3}), x.shape()),
              from_values<float>({1, 3, 2, 7, 5}, {1, 1, 5}));  // 2/2, 2/2 + 6/3, 6/3, 6/3 + 10/2, 10/2
  // 2 elements in 3 parts: [0, 1), [0, 2), [1, 2)
  expect_same(adaptive_avg_pool1d(x.slice(2, 0, 2), 3), from_values<float>({1, 1.5, 2}, {1, 1, 3}));
  const Tensor pixel = full({1, 1, 1, 1}, 3.0);
  expect_same(adaptive_avg_pool2d(pixel, {2, 2}), full({1, 1, 2, 2}, 3.0));
  const Tensor image = sixteen(DType::f32);
  expect_same(adaptive_avg_pool2d(image, {1, 1}), full({1, 1, 1, 1}, 8.5));
  expect_same(adaptive_avg_pool2d(image, {2, 2}), avg_pool2d(image));
  expect_same(adaptive_avg_pool2d(image, {4, 4}), image);
  // Rows [0, 2), [1, 3), [2, 4) and all columns.
  expect_same(adaptive_avg_pool2d(image, {3, 1}), from_values<float>({4.5, 8.5, 12.5}, {1, 1, 3, 1}));
  const auto [y, where_max] = adaptive_max_pool2d(image, {3, 1});
  expect_same(y, from_values<float>({8, 12, 16}, {1, 1, 3, 1}));
  expect_same(where_max, from_values<std::int32_t>({7, 11, 15}, {1, 1, 3, 1}));
  const Tensor grad = full({1, 1, 1, 1}, 32.0);
  expect_same(adaptive_avg_pool2d_backward(grad, image.shape()), full({1, 1, 4, 4}, 2.0));
}

BOOST_AUTO_TEST_CASE(pools_read_any_layout_and_any_number_of_threads) {
  Generator g(6);
  const Tensor x = randn({3, 5, 40, 60}, g);
  const Tensor turned = x.permute({3, 2, 1, 0}).contiguous().permute({3, 2, 1, 0});
  const MaxPool2dOptions options{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const AvgPool2dOptions average{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
  const auto [y, where_max] = max_pool2d(x, options);
  const Tensor grad = randn(y.shape(), g);
  expect_same(max_pool2d(turned, options).output, y);
  expect_same(avg_pool2d(turned, average), avg_pool2d(x, average));
  const Tensor dx = max_pool_backward(grad, where_max, x.shape());
  const Tensor da = avg_pool2d_backward(grad, x.shape(), average);
  for (const int threads : {1, 3}) {
    const MathThreads guard(threads);
    expect_same(max_pool2d(x, options).where_max, where_max);
    expect_same(max_pool_backward(grad, where_max, x.shape()), dx);
    expect_same(avg_pool2d(x, average), avg_pool2d(turned, average));
    expect_same(avg_pool2d_backward(grad, x.shape(), average), da);
  }
}

BOOST_AUTO_TEST_CASE(pools_of_16_bits_are_rounded_once) {
  Generator g(8);
  const MaxPool2dOptions overlapping{.kernel = {3, 3}, .stride = {1, 2}, .padding = {1, 1}};
  const AvgPool2dOptions average{.kernel = {3, 3}, .stride = {1, 2}, .padding = {1, 1}};
  const Tensor x = randn({2, 3, 7, 8}, g);
  const Tensor grad = randn({2, 3, 7, 4}, g);
  expect_rounded([&](const Tensor& a) { return max_pool2d(a, overlapping).output; }, x);
  expect_rounded([&](const Tensor& a) { return avg_pool2d(a, average); }, x);
  expect_rounded([&](const Tensor& a) { return adaptive_avg_pool2d(a, {3, 3}); }, x);
  const Tensor where_max = max_pool2d(x, overlapping).where_max;
  expect_rounded([&](const Tensor& d) { return max_pool_backward(d, where_max, x.shape()); }, grad);
  expect_rounded([&](const Tensor& d) { return avg_pool2d_backward(d, x.shape(), average); }, grad);
  for (const DType dtype : kDTypesOf16BitFloats) {
    BOOST_CHECK(max_pool2d(zeros({0, 3, 7, 8}, dtype), overlapping).output.dtype() == dtype);
  }
}

BOOST_AUTO_TEST_CASE(pools_of_no_images_are_empty) {
  const Tensor none = zeros({0, 1, 4, 4});
  BOOST_CHECK_EQUAL(max_pool2d(none).output.shape(), (Shape{0, 1, 2, 2}));
  BOOST_CHECK_EQUAL(avg_pool2d(none).shape(), (Shape{0, 1, 2, 2}));
  BOOST_CHECK_EQUAL(adaptive_avg_pool2d(none, {3, 1}).shape(), (Shape{0, 1, 3, 1}));
  BOOST_CHECK_EQUAL(adaptive_max_pool2d(none, {3, 1}).output.shape(), (Shape{0, 1, 3, 1}));
  BOOST_CHECK_EQUAL(max_pool_backward(zeros({0, 1, 2, 2}), zeros({0, 1, 2, 2}, DType::i32), none.shape()).shape(),
                    none.shape());
  BOOST_CHECK_EQUAL(avg_pool2d_backward(zeros({0, 1, 2, 2}), none.shape()).shape(), none.shape());
}

BOOST_AUTO_TEST_CASE(max_pooling_refuses_what_does_not_fit) {
  const Tensor x = zeros({1, 1, 4, 4});
  expect_error<ShapeError>("[max_pool2d] not 4 dimensions: (4, 4)", [] { (void)max_pool2d(zeros({4, 4})); });
  expect_error<ShapeError>("[max_pool1d] not 3 dimensions: (1, 1, 4, 4)", [&] { (void)max_pool1d(x); });
  expect_error<ValueError>("[max_pool2d] window below 1: (0, 2)", [&] { (void)max_pool2d(x, {.kernel = {0, 2}}); });
  expect_error<ValueError>("[max_pool2d] stride below 1: (0, 2)", [&] { (void)max_pool2d(x, {.stride = {0, 2}}); });
  expect_error<ValueError>("[max_pool2d] padding above half the kernel: (2, 0) of (2, 2)", [&] {
    (void)max_pool2d(x, {.padding = {2, 0}});
  });
  expect_error<ValueError>(
      "[max_pool2d] a window is in the padding alone: (2, 2) with dilation (3, 3) over (1, 1, 2, 2)", [] {
        (void)max_pool2d(zeros({1, 1, 2, 2}), {.padding = {1, 1}, .dilation = {3, 3}});
      });
  expect_error<ShapeError>("[max_pool2d] window larger than the padded image: (5, 5) over (1, 1, 4, 4)", [&] {
    (void)max_pool2d(x, {.kernel = {5, 5}});
  });
  expect_error<DTypeError>("[max_pool2d] needs a floating dtype: i64", [] {
    (void)max_pool2d(zeros({1, 1, 2, 2}, DType::i64));
  });
  expect_error<TensorError>("[max_pool1d] tensor is undefined", [] { (void)max_pool1d(Tensor()); });
  expect_error<ValueError>("[adaptive_max_pool2d] size below 1: (0, 2)", [&] { (void)adaptive_max_pool2d(x, {0, 2}); });
  const Tensor grad = zeros({1, 1, 2, 2});
  const Tensor places = max_pool2d(x).where_max;
  expect_error<ShapeError>("[max_pool_backward] where_max does not fit: f32 (1) for (1, 1, 2, 2)",
                           [&] { (void)max_pool_backward(grad, zeros({1}), x.shape()); });
  expect_error<ShapeError>("[max_pool_backward] gradient does not fit: (1, 1, 2, 2) for an input (1, 2, 4, 4)", [&] {
    (void)max_pool_backward(grad, places, {1, 2, 4, 4});
  });
  expect_error<ShapeError>("[max_pool_backward] not 4 dimensions: (4, 4)", [&] {
    (void)max_pool_backward(grad, places, {4, 4});
  });
  expect_error<ShapeError>("[max_pool_backward] gradient does not fit: (1, 1, 2, 2) for (1, 1, 3, 3)", [&] {
    (void)max_pool_backward(grad, places, x.shape(), MaxPool2dOptions{.stride = {1, 1}});
  });
  expect_error<IndexError>("[max_pool_backward] index out of range: 16 of 16", [&] {
    (void)max_pool_backward(grad, full({1, 1, 2, 2}, 16, DType::i32), x.shape());
  });
  expect_error<IndexError>("[max_pool_backward] index out of range: -1 of 16", [&] {
    (void)max_pool_backward(grad, full({1, 1, 2, 2}, -1, DType::i32), x.shape());
  });
}

BOOST_AUTO_TEST_CASE(average_pooling_refuses_what_does_not_fit) {
  const Tensor x = zeros({1, 1, 4, 4});
  expect_error<ShapeError>("[avg_pool2d] not 4 dimensions: (4, 4)", [] { (void)avg_pool2d(zeros({4, 4})); });
  expect_error<ValueError>("[avg_pool1d] padding above half the kernel: (2) of (2)", [] {
    (void)avg_pool1d(zeros({1, 1, 4}), {.padding = 2});
  });
  expect_error<DTypeError>("[avg_pool1d] needs a floating dtype: i64", [] {
    (void)avg_pool1d(zeros({1, 1, 4}, DType::i64));
  });
  expect_error<ShapeError>("[avg_pool2d_backward] gradient does not fit: (1, 1, 3, 2) for (1, 1, 2, 2)", [&] {
    (void)avg_pool2d_backward(zeros({1, 1, 3, 2}), x.shape());
  });
  expect_error<ShapeError>("[avg_pool1d_backward] gradient does not fit: (1, 1, 3) for (1, 1, 2)", [] {
    (void)avg_pool1d_backward(zeros({1, 1, 3}), {1, 1, 4});
  });
  expect_error<ValueError>("[adaptive_avg_pool2d] size below 1: (1, 0)", [&] { (void)adaptive_avg_pool2d(x, {1, 0}); });
  expect_error<ValueError>("[adaptive_avg_pool1d] size below 1: (-1)", [] {
    (void)adaptive_avg_pool1d(zeros({1, 1, 4}), -1);
  });
  expect_error<ShapeError>("[adaptive_avg_pool1d] nothing to take parts of: (1, 1, 0)", [] {
    (void)adaptive_avg_pool1d(zeros({1, 1, 0}), 1);
  });
  expect_error<ShapeError>("[adaptive_avg_pool2d_backward] gradient does not fit: (1, 2, 2, 2) for (1, 1, 2, 2)", [&] {
    (void)adaptive_avg_pool2d_backward(zeros({1, 2, 2, 2}), x.shape());
  });
}

BOOST_AUTO_TEST_CASE(memory_follows_the_result_and_not_the_stride_or_the_kernel) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = sixteen(dtype);
    const MaxPool2dOptions far{.kernel = {2, 2}, .stride = {kFar, kFar}};
    const auto [y, where_max] = max_pool2d(x, far);
    expect_same(y, full({1, 1, 1, 1}, 6.0, dtype));
    expect_same(where_max, from_values<std::int32_t>({5}, {1, 1, 1, 1}));
    const Tensor grad = full({1, 1, 1, 1}, 4.0, dtype);
    expect_same(sum(max_pool_backward(grad, where_max, x.shape(), far)), full({}, 4.0, dtype));
    const AvgPool2dOptions means{.kernel = {2, 2}, .stride = {kFar, kFar}};
    expect_same(avg_pool2d(x, means), full({1, 1, 1, 1}, 3.5, dtype));  // (1 + 2 + 5 + 6) / 4
    const Tensor spread = avg_pool2d_backward(grad, x.shape(), means);
    expect_same(spread.slice(2, 0, 2).slice(3, 0, 2), ones({1, 1, 2, 2}, dtype));
    expect_same(sum(spread), full({}, 4.0, dtype));
  }
  // Five windows of 2^40 columns over a line of 4, with 2^39 of padding: all contain the line, except those at the
  // ends.
  const Tensor line = from_values<float>({1, 2, 3, 4}, {1, 1, 4});
  const MaxPool1dOptions wide{.kernel = kFar, .stride = 1, .padding = kFar / 2};
  expect_same(max_pool1d(line, wide).output, from_values<float>({4, 4, 4, 4, 4}, {1, 1, 5}));
  const AvgPool1dOptions inside{.kernel = kFar, .stride = 1, .padding = kFar / 2, .count_include_pad = false};
  expect_same(avg_pool1d(line, inside),
              from_values<float>({2.5, 2.5, 2.5, 2.5, 2.5}, {1, 1, 5}));  // (1 + 2 + 3 + 4) / 4
  // 10 / 2^80 if the padding counts: it overflows 64 bits, but not f32.
  const AvgPool2dOptions with_padding{.kernel = {kFar, kFar}, .stride = {kFar, kFar}, .padding = {kFar / 2, kFar / 2}};
  expect_same(avg_pool2d(line.unsqueeze(2), with_padding), full({1, 1, 1, 1}, 0x1.4p-77));
  // Without images there are no windows, whatever their number per image.
  expect_same(adaptive_avg_pool1d(zeros({0, 1, 4}), kFar), zeros({0, 1, kFar}));
}

BOOST_AUTO_TEST_CASE(sizes_beyond_64_bits_are_refused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const Tensor x = zeros({1, 1, 4, 4});
  expect_error<ShapeError>(
      "[adaptive_avg_pool2d] too many parts: (9223372036854775807, 9223372036854775807) of (1, 1, 4, 4)", [&] {
        (void)adaptive_avg_pool2d(x, {kLargest, kLargest});
      });
  expect_error<ShapeError>("[adaptive_max_pool2d] too many parts: (9223372036854775807, 1) of (1, 1, 4, 4)", [&] {
    (void)adaptive_max_pool2d(x, {kLargest, 1});
  });
  const auto text = [](const char* window, const char* stride, const char* dilation) {
    return std::string("[max_pool1d] sizes do not fit into 64 bits: window (") + window + ") with stride (" + stride +
           "), padding (0) and dilation (" + dilation + ") over (1, 1, 4)";
  };
  const Tensor line = zeros({1, 1, 4});
  expect_error<ShapeError>(text("2", "9223372036854775807", "1"),
                           [&] { (void)max_pool1d(line, {.stride = kLargest}); });
  expect_error<ShapeError>(text("2", "2", "9223372036854775807"),
                           [&] { (void)max_pool1d(line, {.dilation = kLargest}); });
  expect_error<ShapeError>(text("4611686018427387905", "1", "2"), [&] {
    (void)max_pool1d(line, {.kernel = (std::int64_t{1} << 62) + 1, .stride = 1, .dilation = 2});
  });
  expect_error<ShapeError>(
      "[avg_pool2d] window larger than the padded image: (9223372036854775800, 1) over (1, 1, 4, 4)", [&] {
        (void)avg_pool2d(x, {.kernel = {kLargest - 7, 1}, .stride = {1, 1}});
      });
  // A window of one element has no use for its dilation.
  expect_same(max_pool1d(line, {.kernel = 1, .dilation = kLargest}).output, line);
}

BOOST_AUTO_TEST_SUITE_END()
