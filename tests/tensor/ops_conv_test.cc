#include <array>
#include <limits>
#include <thread>
#include <vector>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops_nn.h"
#include "tests/tensor/expect.h"

using namespace troupe;

namespace {

struct ConvCase {
  Shape x;
  Shape weight;
  Conv2dOptions options;
};

const std::vector<ConvCase> kConvCases = {
    {{2, 3, 7, 8}, {4, 3, 3, 3}, {}},
    {{1, 1, 28, 28}, {32, 1, 3, 3}, {}},
    {{2, 2, 9, 10}, {3, 2, 3, 2}, {.stride = {2, 3}, .padding = {1, 2}, .dilation = {1, 1}}},
    {{2, 16, 8, 8}, {16, 16, 3, 3}, {.stride = {1, 1}, .padding = {1, 1}, .dilation = {2, 1}}},
    {{1, 2, 5, 5}, {1, 2, 5, 5}, {}},
    {{3, 2, 4, 4}, {2, 2, 1, 1}, {.stride = {3, 3}, .padding = {0, 0}, .dilation = {1, 1}}},
};

// The definition: every window is a shifted slice of the padded image.
Tensor padded(const Tensor& x, const Size2d& padding, double value) {
  Tensor out = full({x.size(0), x.size(1), x.size(2) + 2 * padding[0], x.size(3) + 2 * padding[1]}, value, x.dtype());
  out.slice(2, padding[0], padding[0] + x.size(2)).slice(3, padding[1], padding[1] + x.size(3)).copy_from(x);
  return out;
}

Tensor shifted(const Tensor& image, std::int64_t row, std::int64_t col, const Size2d& out, const Size2d& stride) {
  return image.slice(2, row, row + (out[0] - 1) * stride[0] + 1, stride[0])
      .slice(3, col, col + (out[1] - 1) * stride[1] + 1, stride[1]);
}

Tensor conv_by_definition(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& o,
                          const Size2d& size) {
  const Tensor image = padded(x, o.padding, 0.0);
  Tensor out = bias.reshape({1, -1, 1, 1}).expand({x.size(0), weight.size(0), size[0], size[1]});
  for (std::int64_t i = 0; i < weight.size(2); ++i) {
    for (std::int64_t j = 0; j < weight.size(3); ++j) {
      const Tensor part = shifted(image, i * o.dilation[0], j * o.dilation[1], size, o.stride);  // (n, c, oh, ow)
      const Tensor filter = weight.select(3, j).select(2, i);                                    // (o, c)
      out = out + sum(part.unsqueeze(1) * filter.reshape({1, weight.size(0), weight.size(1), 1, 1}), 2);
    }
  }
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ops_conv)

BOOST_AUTO_TEST_CASE(a_convolution_gives_the_hand_values) {
  const Tensor x = arange(0.0, 9.0, 1.0).reshape({1, 1, 3, 3});
  const Tensor w = from_values<float>({1, 0, 0, -1}, {1, 1, 2, 2});
  // Each pixel minus its lower right neighbour, 4 further on, plus a bias of 10.
  expect_same(conv2d(x, w, from_values<float>({10})), full({1, 1, 2, 2}, 6.0));
  expect_same(conv2d(x, w), full({1, 1, 2, 2}, -4.0));
  expect_same(conv2d(x.to(DType::f64), w.to(DType::f64)), full({1, 1, 2, 2}, -4.0, DType::f64));
}

BOOST_AUTO_TEST_CASE(convolutions_follow_the_definition) {
  Generator g(1);
  for (const ConvCase& c : kConvCases) {
    const Tensor x = randn(c.x, g, DType::f64);
    const Tensor w = randn(c.weight, g, DType::f64);
    const Tensor b = randn({c.weight[0]}, g, DType::f64);
    const Tensor y = conv2d(x, w, b, c.options);
    expect_close(y, conv_by_definition(x, w, b, c.options, {y.size(2), y.size(3)}), 1e-12, 1e-13);
    // f32: sums of up to 145 terms of about 1, each off by 2^-24.
    expect_close(conv2d(x.to(DType::f32), w.to(DType::f32), b.to(DType::f32), c.options).to(DType::f64), y, 0, 3e-5);
  }
}

// A convolution is linear in x and in w: <dy, conv(x, w)> = <dx, x> = <dw, w> for every dy.
BOOST_AUTO_TEST_CASE(gradients_are_the_adjoints_of_the_convolution) {
  Generator g(2);
  for (const ConvCase& c : kConvCases) {
    const Tensor x = randn(c.x, g, DType::f64);
    const Tensor w = randn(c.weight, g, DType::f64);
    const Tensor y = conv2d(x, w, {}, c.options);
    const Tensor dy = randn(y.shape(), g, DType::f64);
    const Tensor dx = conv2d_backward_input(dy, w, x.shape(), c.options);
    const Tensor dw = conv2d_backward_weight(dy, x, w.shape(), c.options);
    expect_close(sum(dx * x), sum(dy * y), 1e-11, 1e-11);
    expect_close(sum(dw * w), sum(dy * y), 1e-11, 1e-11);
    // oneDNN's f32 agrees with them element by element; sums of up to 676 * 2 terms.
    const Tensor g32 = dy.to(DType::f32);
    expect_close(conv2d_backward_input(g32, w.to(DType::f32), x.shape(), c.options).to(DType::f64), dx, 0, 1e-4);
    expect_close(conv2d_backward_weight(g32, x.to(DType::f32), w.shape(), c.options).to(DType::f64), dw, 0, 2e-4);
  }
}

BOOST_AUTO_TEST_CASE(convolutions_read_any_layout) {
  Generator g(3);
  const Tensor x = randn({2, 3, 6, 5}, g);
  const Tensor w = randn({2, 3, 3, 3}, g);
  const Tensor turned = x.permute({3, 2, 1, 0}).contiguous().permute({3, 2, 1, 0});
  expect_same(conv2d(turned, w), conv2d(x, w));
}

BOOST_AUTO_TEST_CASE(empty_batches_convolve_to_nothing) {
  const Tensor w = ones({2, 1, 2, 2});
  BOOST_CHECK_EQUAL(conv2d(zeros({0, 1, 3, 3}), w).shape(), (Shape{0, 2, 2, 2}));
  expect_same(conv2d_backward_weight(zeros({0, 2, 2, 2}), zeros({0, 1, 3, 3}), w.shape()), zeros({2, 1, 2, 2}));
  BOOST_CHECK_EQUAL(conv2d_backward_input(zeros({0, 2, 2, 2}), w, {0, 1, 3, 3}).shape(), (Shape{0, 1, 3, 3}));
  expect_same(conv2d(zeros({1, 0, 2, 2}), zeros({2, 0, 1, 1}), from_values<float>({3, 4})),
              from_values<float>({3, 3, 3, 3, 4, 4, 4, 4}, {1, 2, 2, 2}));
}

BOOST_AUTO_TEST_CASE(convolutions_refuse_what_does_not_fit) {
  const Tensor x = zeros({1, 3, 8, 8});
  expect_error<ShapeError>("[conv2d] channels differ: (1, 3, 8, 8) and weight (4, 2, 3, 3)", [&] {
    (void)conv2d(x, zeros({4, 2, 3, 3}));
  });
  expect_error<ShapeError>("[conv2d] not 4 dimensions: (3, 8, 8)", [&] {
    (void)conv2d(x.select(0, 0), zeros({4, 3, 3, 3}));
  });
  expect_error<ShapeError>("[conv2d] bias does not fit: (3) for weight (4, 3, 3, 3)", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), zeros({3}));
  });
  expect_error<ShapeError>("[conv2d] window larger than the padded image: (9, 3) over (1, 3, 8, 8)", [&] {
    (void)conv2d(x, zeros({4, 3, 9, 3}));
  });
  expect_error<DTypeError>("[conv2d] dtypes differ: f32 and f64", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}, DType::f64));
  });
  expect_error<DTypeError>("[conv2d] needs a floating dtype: i64", [] {
    (void)conv2d(zeros({1, 1, 1, 1}, DType::i64), zeros({1, 1, 1, 1}, DType::i64));
  });
  expect_error<ValueError>("[conv2d] stride below 1: (0, 1)", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.stride = {0, 1}, .padding = {}, .dilation = {1, 1}});
  });
  expect_error<ShapeError>("[conv2d_backward_input] gradient does not fit: (1, 4, 8, 8) for (1, 4, 6, 6)", [&] {
    (void)conv2d_backward_input(zeros({1, 4, 8, 8}), zeros({4, 3, 3, 3}), x.shape());
  });
  expect_error<ShapeError>("[conv2d_backward_weight] gradient does not fit: (1, 4, 8, 8) for (1, 4, 6, 6)", [&] {
    (void)conv2d_backward_weight(zeros({1, 4, 8, 8}), x, {4, 3, 3, 3});
  });
}

BOOST_AUTO_TEST_CASE(one_plan_serves_several_threads_and_thread_counts) {
  Generator g(4);
  const Tensor x = randn({4, 8, 12, 12}, g);
  const Tensor w = randn({16, 8, 3, 3}, g);
  std::vector<Tensor> results(4);
  {
    std::vector<std::jthread> threads;
    for (Tensor& result : results) {
      threads.emplace_back([&] {
        const MathThreads one(1);
        for (int i = 0; i < 20; ++i) result = conv2d(x, w);
      });
    }
  }
  const MathThreads one(1);
  for (const Tensor& result : results) expect_same(result, conv2d(x, w));
  const MathThreads two(2);
  expect_close(conv2d(x, w), results[0], 0, 2e-5);
}

BOOST_AUTO_TEST_CASE(pooling_takes_the_largest_of_each_window) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = from_values<float>({1, 2, 3, 4,      //
                                         5, 9, 7, 8,      //
                                         -1, -2, -3, -4,  //
                                         -5, -6, -7, -8},
                                        {1, 1, 4, 4})
                         .to(dtype);
    const auto [y, where_max] = max_pool2d(x);
    expect_same(y, from_values<float>({9, 8, -1, -3}, {1, 1, 2, 2}).to(dtype));
    const Tensor grad = from_values<float>({10, 20, 30, 40}, {1, 1, 2, 2}).to(dtype);
    expect_same(max_pool2d_backward(grad, where_max, x.shape()), from_values<float>({0, 0, 0, 0,    //
                                                                                     0, 10, 0, 20,  //
                                                                                     30, 0, 40, 0,  //
                                                                                     0, 0, 0, 0},
                                                                                    {1, 1, 4, 4})
                                                                     .to(dtype));
  }
}

BOOST_AUTO_TEST_CASE(pooling_follows_the_definition) {
  Generator g(5);
  const std::vector<Pool2dOptions> cases = {{},
                                            {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                            {.kernel = {3, 2}, .stride = {1, 3}, .padding = {0, 1}},
                                            {.kernel = {2, 2}, .stride = {3, 3}, .padding = {0, 0}}};
  for (const Pool2dOptions& o : cases) {
    const Tensor x = randn({2, 3, 9, 8}, g, DType::f64);
    const auto [y, where_max] = max_pool2d(x, o);
    const Tensor image = padded(x, o.padding, -std::numeric_limits<double>::infinity());
    Tensor expected = shifted(image, 0, 0, {y.size(2), y.size(3)}, o.stride);
    for (std::int64_t i = 0; i < o.kernel[0]; ++i) {
      for (std::int64_t j = 0; j < o.kernel[1]; ++j) {
        expected = maximum(expected, shifted(image, i, j, {y.size(2), y.size(3)}, o.stride));
      }
    }
    expect_same(y, expected);
    const auto [y32, where_max32] = max_pool2d(x.to(DType::f32), o);
    expect_same(y32, expected.to(DType::f32));
    // Whole numbers, so that sums are exact in any order.
    const Tensor grad = randint(1, 100, y.shape(), g).to(DType::f64);
    const Tensor dx = max_pool2d_backward(grad, where_max, x.shape(), o);
    expect_close(sum(dx * x), sum(grad * y), 1e-12);
    expect_same(max_pool2d_backward(grad.to(DType::f32), where_max32, x.shape(), o), dx.to(DType::f32));
  }
}

BOOST_AUTO_TEST_CASE(pooling_refuses_what_does_not_fit) {
  const Tensor x = zeros({1, 1, 4, 4});
  expect_error<ShapeError>("[max_pool2d] not 4 dimensions: (4, 4)", [] { (void)max_pool2d(zeros({4, 4})); });
  expect_error<ValueError>("[max_pool2d] window below 1: (0, 2)", [&] {
    (void)max_pool2d(x, {.kernel = {0, 2}, .stride = {1, 1}, .padding = {}});
  });
  expect_error<ValueError>("[max_pool2d] padding above half the kernel: (2, 0) of (2, 2)", [&] {
    (void)max_pool2d(x, {.kernel = {2, 2}, .stride = {2, 2}, .padding = {2, 0}});
  });
  expect_error<ShapeError>("[max_pool2d] window larger than the padded image: (5, 5) over (1, 1, 4, 4)", [&] {
    (void)max_pool2d(x, {.kernel = {5, 5}, .stride = {1, 1}, .padding = {}});
  });
  expect_error<DTypeError>("[max_pool2d] needs a floating dtype: i64", [] {
    (void)max_pool2d(zeros({1, 1, 2, 2}, DType::i64));
  });
  expect_error<ShapeError>("[max_pool2d_backward] where_max does not fit: 1 f32 for 4 i64", [&] {
    (void)max_pool2d_backward(zeros({1, 1, 2, 2}, DType::f64), zeros({1}), x.shape());
  });
  BOOST_CHECK_EQUAL(max_pool2d(zeros({0, 1, 4, 4})).output.shape(), (Shape{0, 1, 2, 2}));
}

BOOST_AUTO_TEST_CASE(images_of_16_bits_are_rounded_once) {
  Generator g(8);
  for (const ConvCase& c : kConvCases) {
    const Tensor x = randn(c.x, g);
    const Tensor weight = randn(c.weight, g);
    const Tensor bias = randn({c.weight[0]}, g);
    const Tensor grad = randn(conv2d(x, weight, {}, c.options).shape(), g);
    expect_rounded([&](const Tensor& a, const Tensor& w) { return conv2d(a, w, {}, c.options); }, x, weight);
    expect_rounded([&](const Tensor& a, const Tensor& w, const Tensor& b) { return conv2d(a, w, b, c.options); }, x,
                   weight, bias);
    expect_rounded([&](const Tensor& d, const Tensor& w) { return conv2d_backward_input(d, w, c.x, c.options); }, grad,
                   weight);
    expect_rounded([&](const Tensor& d, const Tensor& a) { return conv2d_backward_weight(d, a, c.weight, c.options); },
                   grad, x);
  }
  const Pool2dOptions overlapping{.kernel = {3, 3}, .stride = {1, 2}, .padding = {1, 1}};
  const Tensor x = randn({2, 3, 7, 8}, g);
  expect_rounded([&](const Tensor& a) { return max_pool2d(a, overlapping).output; }, x);
  const Tensor grad = randn({2, 3, 7, 4}, g);
  expect_rounded(
      [&](const Tensor& d) {
        return max_pool2d_backward(d, max_pool2d(x.to(d.dtype()), overlapping).where_max, x.shape(), overlapping);
      },
      grad);
  for (const DType dtype : kDTypesOf16BitFloats) {
    BOOST_CHECK(conv2d(zeros({0, 3, 7, 8}, dtype), zeros({4, 3, 3, 3}, dtype)).dtype() == dtype);
    BOOST_CHECK(max_pool2d(zeros({0, 3, 7, 8}, dtype), overlapping).output.dtype() == dtype);
  }
}

BOOST_AUTO_TEST_SUITE_END()
