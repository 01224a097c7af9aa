#include "tensor/ops/conv.h"

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/convolution.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_conv)

namespace {

struct ConvCase {
  Shape x;
  Shape weight;
  Conv2dOptions options;
};

const std::vector<ConvCase> kConvCases = {
    {{2, 3, 7, 8}, {4, 3, 3, 3}, {}},
    {{1, 1, 28, 28}, {32, 1, 3, 3}, {}},
    // Few products: rows of one vector, of parts of several vectors, and channels beside a full block.
    {{2, 1, 18, 18}, {4, 1, 3, 3}, {}},
    {{3, 2, 6, 33}, {5, 2, 3, 2}, {.padding = {1, 0}, .dilation = {2, 1}}},
    {{2, 3, 5, 47}, {7, 3, 1, 3}, {.padding = {0, 3}, .dilation = {1, 2}}},
    {{1, 1, 4, 17}, {1, 1, 5, 5}, {.padding = {2, 2}}},
    {{2, 2, 9, 10}, {3, 2, 3, 2}, {.stride = {2, 3}, .padding = {1, 2}, .dilation = {1, 1}}},
    {{2, 16, 8, 8}, {16, 16, 3, 3}, {.stride = {1, 1}, .padding = {1, 1}, .dilation = {2, 1}}},
    {{1, 2, 5, 5}, {1, 2, 5, 5}, {}},
    {{3, 2, 4, 4}, {2, 2, 1, 1}, {.stride = {3, 3}, .padding = {0, 0}, .dilation = {1, 1}}},
    // Groups, and one filter per channel.
    {{2, 4, 7, 6}, {6, 2, 3, 3}, {.padding = {1, 0}, .groups = 2}},
    {{3, 6, 5, 5}, {6, 1, 3, 3}, {.stride = {2, 1}, .padding = {1, 1}, .groups = 6}},
    {{2, 3, 6, 6}, {6, 1, 2, 2}, {.groups = 3}},
    {{2, 32, 6, 6}, {32, 1, 3, 3}, {.padding = {1, 1}, .groups = 32}},
    {{2, 32, 5, 5}, {32, 16, 3, 3}, {.padding = {1, 1}, .groups = 2}},
    // 1 x 1 filters: large images, several small ones, and groups.
    {{3, 5, 20, 20}, {7, 5, 1, 1}, {}},
    {{9, 20, 2, 2}, {18, 20, 1, 1}, {}},
    {{2, 8, 3, 3}, {4, 4, 1, 1}, {.groups = 2}},
    {{70, 3, 2, 2}, {4, 3, 3, 3}, {.padding = {1, 1}}},
    // Few pixels of many channels, and one image that is processed in parts.
    {{4, 24, 2, 2}, {40, 24, 3, 3}, {.padding = {1, 1}}},
    {{1, 20, 50, 50}, {2, 20, 3, 3}, {.padding = {1, 1}}},
};

// The definition: every window is a shifted slice of the padded image.

Tensor shifted(const Tensor& image, std::int64_t row, std::int64_t col, const Size2d& out, const Size2d& stride) {
  return image.slice(2, row, row + (out[0] - 1) * stride[0] + 1, stride[0])
      .slice(3, col, col + (out[1] - 1) * stride[1] + 1, stride[1]);
}

Tensor conv_by_definition(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& o,
                          const Size2d& size) {
  const Tensor image = pad(x, {o.padding[1], o.padding[1], o.padding[0], o.padding[0]});
  const std::vector<Tensor> images = chunk(image, o.groups, 1);
  const std::vector<Tensor> weights = chunk(weight, o.groups, 0);
  std::vector<Tensor> parts;
  for (std::size_t group = 0; group < images.size(); ++group) {
    const Tensor& w = weights[group];
    Tensor out = zeros({x.size(0), w.size(0), size[0], size[1]}, DType::f64);
    for (std::int64_t i = 0; i < w.size(2); ++i) {
      for (std::int64_t j = 0; j < w.size(3); ++j) {
        const Tensor part =
            shifted(images[group], i * o.dilation[0], j * o.dilation[1], size, o.stride);  // (n, c, oh, ow)
        const Tensor filter = w.select(3, j).select(2, i);                                 // (o, c)
        out = out + sum(part.unsqueeze(1) * filter.reshape({1, w.size(0), w.size(1), 1, 1}), 2);
      }
    }
    parts.push_back(out);
  }
  return concat(parts, 1) + bias.reshape({1, -1, 1, 1});
}

Tensor as_f32(const Tensor& x) { return x.to(DType::f32); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_convolution_gives_the_hand_values) {
  const Tensor x = arange(0.0, 9.0, 1.0).reshape({1, 1, 3, 3});
  const Tensor w = from_values<float>({1, 0, 0, -1}, {1, 1, 2, 2});
  // Each pixel minus its lower right neighbour, which is 4 larger, plus a bias of 10.
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
    // f32: sums of up to 289 terms of about 1, each with an error of 2^-24.
    expect_close(conv2d(as_f32(x), as_f32(w), as_f32(b), c.options).to(DType::f64), y, 0, 3e-5);
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
    // The f32 gradients agree element by element; sums of up to 2500 terms.
    const Tensor g32 = as_f32(dy);
    expect_close(conv2d_backward_input(g32, as_f32(w), x.shape(), c.options).to(DType::f64), dx, 0, 1e-4);
    expect_close(conv2d_backward_weight(g32, as_f32(x), w.shape(), c.options).to(DType::f64), dw, 0, 2e-4);
  }
}

// Batches that the f32 kernels split into several pieces, with one image more than a whole number of them.
BOOST_AUTO_TEST_CASE(images_that_are_taken_some_at_a_time_give_the_same) {
  Generator g(9);
  for (const std::int64_t images : {12, 7}) {
    const Tensor x = randn({images, 16, 40, 40}, g, DType::f64);
    const Tensor w = randn({16, 16, 3, 3}, g, DType::f64);
    const Tensor dy = randn({images, 16, 38, 38}, g, DType::f64);
    const Tensor x32 = as_f32(x);
    const Tensor w32 = as_f32(w);
    const Tensor dy32 = as_f32(dy);
    const Tensor dx32 = conv2d_backward_input(dy32, w32, x.shape());
    const Tensor dw32 = conv2d_backward_weight(dy32, x32, w.shape());
    // Sums of 144 terms, and of up to 12 * 38 * 38, about 1 each.
    expect_close(conv2d(x32, w32).to(DType::f64), conv2d(x, w), 0, 1e-4);
    expect_close(dx32.to(DType::f64), conv2d_backward_input(dy, w, x.shape()), 0, 1e-4);
    expect_close(dw32.to(DType::f64), conv2d_backward_weight(dy, x, w.shape()), 0, 3e-3);
    // Computed together, both gradients share rearranged data.
    const detail::ConvolutionGradients both = detail::convolve_backward("conv2d", detail::Convolution(Conv2dOptions{}),
                                                                        dy32, {x.shape(), w.shape(), x32, w32});
    expect_same(both.x, dx32);
    expect_same(both.weight, dw32);
  }
}

BOOST_AUTO_TEST_CASE(groups_see_their_own_channels_only) {
  const Tensor x = from_values<float>({1, 2, 3, 4}, {1, 4, 1, 1});
  const Tensor w = from_values<float>({1, 10, 100, 1000}, {2, 2, 1, 1});
  expect_same(conv2d(x, w, {}, {.groups = 2}),
              from_values<float>({21, 4300}, {1, 2, 1, 1}));  // 1*1 + 2*10, 3*100 + 4*1000
  const Tensor each = from_values<float>({1, 10, 100, 1000}, {4, 1, 1, 1});
  expect_same(conv2d(x, each, {}, {.groups = 4}), from_values<float>({1, 20, 300, 4000}, {1, 4, 1, 1}));
}

BOOST_AUTO_TEST_CASE(a_line_is_an_image_of_one_row) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5}, {1, 1, 5});
  const Tensor w = from_values<float>({1, 0, -1}, {1, 1, 3});
  expect_same(conv1d(x, w), from_values<float>({-2, -2, -2}, {1, 1, 3}));  // 1-3, 2-4, 3-5
  // 0-2, 2-4, 4-0, and the bias of 10.
  expect_same(conv1d(x, w, from_values<float>({10}), {.stride = 2, .padding = 1}),
              from_values<float>({8, 8, 14}, {1, 1, 3}));
  expect_same(conv1d(x, w, {}, {.dilation = 2}), from_values<float>({-4}, {1, 1, 1}));  // 1-5
  Generator g(9);
  const Tensor lines = randn({2, 4, 30}, g, DType::f64);
  const Tensor filters = randn({6, 2, 5}, g, DType::f64);
  const Tensor bias = randn({6}, g, DType::f64);
  expect_same(conv1d(lines, filters, bias, {.stride = 2, .padding = 3, .dilation = 2, .groups = 2}),
              conv2d(lines.unsqueeze(2), filters.unsqueeze(2), bias,
                     {.stride = {1, 2}, .padding = {0, 3}, .dilation = {1, 2}, .groups = 2})
                  .squeeze(2));
}

BOOST_AUTO_TEST_CASE(a_transposed_convolution_gives_the_hand_values) {
  const Tensor x = from_values<float>({1, 2, 3}, {1, 1, 3});
  const Tensor w = from_values<float>({1, 10}, {1, 1, 2});
  expect_same(conv_transpose1d(x, w), from_values<float>({1, 12, 23, 30}, {1, 1, 4}));  // 1, 10 + 2, 20 + 3, 30
  expect_same(conv_transpose1d(x, w, {}, {.stride = 3}), from_values<float>({1, 10, 0, 2, 20, 0, 3, 30}, {1, 1, 8}));
  expect_same(conv_transpose1d(x, w, {}, {.padding = 1}), from_values<float>({12, 23}, {1, 1, 2}));
  expect_same(conv_transpose1d(x, w, from_values<float>({5}), {.stride = 2, .output_padding = 1, .dilation = 2}),
              from_values<float>({6, 5, 17, 5, 28, 5, 35, 5}, {1, 1, 8}));  // 1, 0, 10 + 2, 0, 20 + 3, 0, 30, 0; and 5
  const Tensor image = from_values<float>({1, 2, 3, 4}, {1, 1, 2, 2});
  const Tensor filter = from_values<float>({1, 10, 100, 1000}, {1, 1, 2, 2});
  expect_same(conv_transpose2d(image, filter),
              from_values<float>({1, 12, 20,        // 1, 10 + 2, 20
                                  103, 1234, 2040,  // 100 + 3, 1000 + 200 + 30 + 4, ...
                                  300, 3400, 4000},
                                 {1, 1, 3, 3}));
}

// <conv_transpose(x, w), z> = <x, conv(z, w)> for every z.
BOOST_AUTO_TEST_CASE(a_transposed_convolution_is_the_adjoint_of_the_convolution) {
  Generator g(10);
  const std::vector<std::pair<ConvCase, Size2d>> cases = {
      {{{2, 4, 3, 5}, {4, 3, 3, 2}, {}}, {0, 0}},
      {{{2, 4, 3, 5}, {4, 3, 3, 2}, {.stride = {2, 3}, .padding = {1, 1}}}, {1, 2}},
      {{{1, 4, 3, 4}, {4, 3, 3, 3}, {.padding = {2, 0}, .dilation = {2, 3}}}, {1, 2}},
      {{{2, 4, 3, 3}, {4, 1, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .groups = 2}}, {1, 1}},
      {{{2, 32, 4, 4}, {32, 32, 4, 4}, {.stride = {2, 2}, .padding = {1, 1}}}, {0, 0}}};
  for (const auto& [c, further] : cases) {
    const Tensor x = randn(c.x, g, DType::f64);
    const Tensor w = randn(c.weight, g, DType::f64);
    const Tensor b = randn({c.weight[1] * c.options.groups}, g, DType::f64);
    const ConvTranspose2dOptions options{c.options.stride, c.options.padding, further, c.options.dilation,
                                         c.options.groups};
    const Tensor y = conv_transpose2d(x, w, {}, options);
    const Tensor z = randn(y.shape(), g, DType::f64);
    const Tensor back = conv2d(z, w, {}, c.options).slice(2, 0, c.x[2]).slice(3, 0, c.x[3]);
    expect_close(sum(y * z), sum(x * back), 1e-11, 1e-11);
    expect_close(conv_transpose2d(x, w, b, options), y + b.reshape({-1, 1, 1}), 1e-13, 1e-13);
    // f32: sums of up to 512 terms of about 1.
    expect_close(conv_transpose2d(as_f32(x), as_f32(w), as_f32(b), options).to(DType::f64), y + b.reshape({-1, 1, 1}),
                 0, 1e-4);
    expect_rounded(
        [&](const Tensor& a, const Tensor& f, const Tensor& d) { return conv_transpose2d(a, f, d, options); },
        as_f32(x), as_f32(w), as_f32(b));
  }
}

BOOST_AUTO_TEST_CASE(convolutions_read_any_layout) {
  Generator g(3);
  const Tensor x = randn({2, 3, 6, 5}, g);
  const Tensor w = randn({2, 3, 3, 3}, g);
  const Tensor turned = x.permute({3, 2, 1, 0}).contiguous().permute({3, 2, 1, 0});
  expect_same(conv2d(turned, w), conv2d(x, w));
  expect_same(conv_transpose2d(turned, w.transpose(0, 1)), conv_transpose2d(x, w.transpose(0, 1).contiguous()));
  expect_same(conv1d(turned.select(2, 1), w.select(2, 0)),
              conv1d(x.select(2, 1).contiguous(), w.select(2, 0).contiguous()));
}

BOOST_AUTO_TEST_CASE(empty_batches_convolve_to_nothing) {
  const Tensor w = ones({2, 1, 2, 2});
  BOOST_CHECK_EQUAL(conv2d(zeros({0, 1, 3, 3}), w).shape(), (Shape{0, 2, 2, 2}));
  expect_same(conv2d_backward_weight(zeros({0, 2, 2, 2}), zeros({0, 1, 3, 3}), w.shape()), zeros({2, 1, 2, 2}));
  BOOST_CHECK_EQUAL(conv2d_backward_input(zeros({0, 2, 2, 2}), w, {0, 1, 3, 3}).shape(), (Shape{0, 1, 3, 3}));
  expect_same(conv2d(zeros({1, 0, 2, 2}), zeros({2, 0, 1, 1}), from_values<float>({3, 4})),
              from_values<float>({3, 3, 3, 3, 4, 4, 4, 4}, {1, 2, 2, 2}));
  expect_same(conv1d(zeros({1, 0, 2}), zeros({1, 0, 1}), from_values<float>({3})), full({1, 1, 2}, 3.0));
  expect_same(conv_transpose2d(zeros({1, 0, 1, 2}), zeros({0, 1, 2, 1}), from_values<float>({3})),
              full({1, 1, 2, 2}, 3.0));
  BOOST_CHECK_EQUAL(conv_transpose1d(zeros({0, 2, 3}), zeros({2, 5, 2})).shape(), (Shape{0, 5, 4}));
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
  expect_error<ShapeError>("[conv2d] channels differ: (1, 3, 8, 8) and weight (4, 3, 3, 3), 3 groups", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.groups = 3});
  });
  expect_error<ShapeError>("[conv2d] filters do not divide into 3 groups: weight (4, 1, 3, 3)", [&] {
    (void)conv2d(x, zeros({4, 1, 3, 3}), {}, {.groups = 3});
  });
  expect_error<ValueError>("[conv2d] groups below 1: 0", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.groups = 0});
  });
  expect_error<ValueError>("[conv2d] padding below 0: (0, -1)", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.padding = {0, -1}});
  });
  expect_error<ValueError>("[conv2d] dilation below 1: (1, 0)", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.dilation = {1, 0}});
  });
  expect_error<TensorError>("[conv2d_backward_input] tensor is undefined", [&] {
    (void)conv2d_backward_input(zeros({1, 4, 6, 6}), {}, x.shape());
  });
  expect_error<TensorError>("[conv2d_backward_weight] tensor is undefined", [&] {
    (void)conv2d_backward_weight({}, x, {4, 3, 3, 3});
  });
  expect_error<ValueError>("[conv2d] stride below 1: (0, 1)", [&] {
    (void)conv2d(x, zeros({4, 3, 3, 3}), {}, {.stride = {0, 1}, .padding = 0, .dilation = {1, 1}});
  });
  expect_error<ShapeError>("[conv2d_backward_input] gradient does not fit: (1, 4, 8, 8) for (1, 4, 6, 6)", [&] {
    (void)conv2d_backward_input(zeros({1, 4, 8, 8}), zeros({4, 3, 3, 3}), x.shape());
  });
  expect_error<ShapeError>("[conv2d_backward_weight] gradient does not fit: (1, 4, 8, 8) for (1, 4, 6, 6)", [&] {
    (void)conv2d_backward_weight(zeros({1, 4, 8, 8}), x, {4, 3, 3, 3});
  });
}

BOOST_AUTO_TEST_CASE(lines_and_transposed_convolutions_refuse_what_does_not_fit) {
  const Tensor line = zeros({1, 3, 8});
  const Tensor x = zeros({1, 3, 8, 8});
  expect_error<ShapeError>("[conv1d] channels differ: (1, 3, 8) and weight (4, 2, 3)", [&] {
    (void)conv1d(line, zeros({4, 2, 3}));
  });
  expect_error<ShapeError>("[conv1d] not 3 dimensions: (1, 3, 8, 8)", [&] { (void)conv1d(x, zeros({4, 3, 3})); });
  expect_error<ShapeError>("[conv1d] window larger than the padded image: (9) over (1, 3, 8)", [&] {
    (void)conv1d(line, zeros({4, 3, 9}));
  });
  expect_error<ValueError>("[conv1d] stride below 1: (0)", [&] {
    (void)conv1d(line, zeros({4, 3, 3}), {}, {.stride = 0});
  });
  expect_error<ShapeError>("[conv_transpose2d] channels differ: (1, 3, 8, 8) and weight (4, 2, 3, 3)", [&] {
    (void)conv_transpose2d(x, zeros({4, 2, 3, 3}));
  });
  expect_error<ShapeError>("[conv_transpose2d] bias does not fit: (3) for weight (3, 2, 3, 3)", [&] {
    (void)conv_transpose2d(x, zeros({3, 2, 3, 3}), zeros({3}));
  });
  expect_error<ShapeError>("[conv_transpose2d] padding leaves nothing: (0, 2) from (1, 3, 1, 2)", [&] {
    (void)conv_transpose2d(zeros({1, 3, 1, 2}), zeros({3, 2, 3, 3}), {}, {.padding = {0, 2}});
  });
  expect_error<ValueError>("[conv_transpose2d] output padding not below stride or dilation: (2, 0)", [&] {
    (void)conv_transpose2d(x, zeros({3, 2, 3, 3}), {}, {.stride = {2, 2}, .output_padding = {2, 0}});
  });
  expect_error<ValueError>("[conv_transpose1d] output padding below 0: (-1)", [&] {
    (void)conv_transpose1d(line, zeros({3, 2, 3}), {}, {.output_padding = -1});
  });
  expect_error<ShapeError>("[conv_transpose1d] filters do not divide into 2 groups: weight (3, 2, 3)", [&] {
    (void)conv_transpose1d(line, zeros({3, 2, 3}), {}, {.groups = 2});
  });
  expect_error<DTypeError>("[conv_transpose1d] dtypes differ: f32 and f64", [&] {
    (void)conv_transpose1d(line, zeros({3, 2, 3}, DType::f64));
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
  for (const DType dtype : kDTypesOf16BitFloats) {
    BOOST_CHECK(conv2d(zeros({0, 3, 7, 8}, dtype), zeros({4, 3, 3, 3}, dtype)).dtype() == dtype);
  }
}

BOOST_AUTO_TEST_CASE(sizes_beyond_64_bits_are_refused) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const Tensor x = ones({1, 1, 4});
  const Tensor w = ones({1, 1, 2});
  const std::string over = " over (1, 1, 4)";
  expect_error<ShapeError>(
      "[conv1d] sizes do not fit into 64 bits: window (2) with stride (1), padding (9223372036854775807) and dilation "
      "(1)" +
          over,
      [&] { (void)conv1d(x, w, {}, {.padding = kLargest}); });
  expect_error<ShapeError>(
      "[conv1d] sizes do not fit into 64 bits: window (2) with stride (1), padding (0) and dilation "
      "(9223372036854775807)" +
          over,
      [&] { (void)conv1d(x, w, {}, {.dilation = kLargest}); });
  expect_error<ShapeError>(
      "[conv_transpose1d] sizes do not fit into 64 bits: window (2) with stride (9223372036854775807), padding (0) and "
      "dilation (1)" +
          over,
      [&] { (void)conv_transpose1d(x, w, {}, {.stride = kLargest}); });
  expect_error<ShapeError>(
      "[conv_transpose1d] sizes do not fit into 64 bits: window (2) with stride (1), padding (9223372036854775807) and "
      "dilation (1)" +
          over,
      [&] { (void)conv_transpose1d(x, w, {}, {.padding = kLargest}); });
  expect_error<ShapeError>("[conv1d] channels differ: (1, 1, 4) and weight (0, 4611686018427387904, 2), 4 groups", [&] {
    (void)conv1d(x, zeros({0, std::int64_t{1} << 62, 2}), {}, {.groups = 4});
  });
  expect_error<ShapeError>("[conv_transpose1d] too many channels: weight (0, 4611686018427387904, 2), 4 groups", [&] {
    (void)conv_transpose1d(zeros({1, 0, 4}), zeros({0, std::int64_t{1} << 62, 2}), {}, {.groups = 4});
  });
}

BOOST_AUTO_TEST_CASE(padding_may_keep_the_size) {
  const Tensor x = from_values<float>({1, 2, 3}, {1, 1, 3});
  // With an even filter the extra zero is at the end: 1 + 2, 2 + 3, 3 + 0.
  expect_same(conv1d(x, ones({1, 1, 2}), {}, {.padding = kSame}), from_values<float>({3, 5, 3}, {1, 1, 3}));
  expect_same(conv1d(x, ones({1, 1, 3}), {}, {.padding = kSame}), from_values<float>({3, 6, 5}, {1, 1, 3}));
  Generator g(3);
  const Tensor image = randn({2, 2, 5, 4}, g);
  const Tensor weight = randn({3, 2, 4, 3}, g);
  const Conv2dOptions same{.padding = {kSame, kSame}, .dilation = {1, 2}};
  // Rows: 3 zeros, 1 before and 2 after; columns: 4 zeros.
  const Tensor padded = pad(image, {2, 2, 1, 2});
  expect_close(conv2d(image, weight, {}, same), conv2d(padded, weight, {}, {.dilation = {1, 2}}), 1e-5, 1e-5);
  const Tensor mixed = conv2d(image, weight, {}, {.stride = {1, 2}, .padding = {kSame, 1}});
  BOOST_CHECK(mixed.shape() == (Shape{2, 3, 5, 2}));
  const Tensor grad = randn({2, 3, 5, 4}, g);
  expect_close(conv2d_backward_input(grad, weight, image.shape(), same),
               conv2d_backward_input(grad, weight, padded.shape(), {.dilation = {1, 2}}).slice(2, 1, 6).slice(3, 2, 6),
               1e-5, 1e-5);
  expect_close(conv2d_backward_weight(grad, image, weight.shape(), same),
               conv2d_backward_weight(grad, padded, weight.shape(), {.dilation = {1, 2}}), 1e-5, 1e-5);
  expect_error<ValueError>("[conv1d] padding that keeps the size with stride (2)", [&] {
    (void)conv1d(x, ones({1, 1, 2}), {}, {.stride = 2, .padding = kSame});
  });
  expect_error<ValueError>("[conv_transpose1d] padding below 0: (-9223372036854775808)", [&] {
    (void)conv_transpose1d(x, ones({1, 1, 2}), {}, {.padding = kSame});
  });
}

BOOST_AUTO_TEST_SUITE_END()
