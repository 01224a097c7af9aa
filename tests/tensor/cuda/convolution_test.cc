#include "tensor/ops/conv.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_convolution, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::expect_same_on_gpu;
using testing::kFloats;
using testing::NeedsGpus;
using testing::whole_values;

// Whole numbers so small that sums of products are exact, also in 16 bits.
struct Case {
  Shape x;
  Shape weight;
  Conv2dOptions options;
};

std::vector<Case> cases() {
  return {{{2, 3, 9, 8}, {4, 3, 3, 3}, {}},
          {{2, 8, 6, 6}, {8, 8, 1, 1}, {}},
          {{2, 6, 9, 8}, {4, 3, 3, 2}, {{2, 1}, {1, 0}, {1, 3}, 2}},
          {{2, 4, 7, 7}, {4, 1, 3, 3}, {{2, 2}, {1, 1}, {1, 1}, 4}},
          {{1, 1, 5, 5}, {1, 1, 5, 5}, {}}};
}

}  // namespace

// Algorithms that transform images and filters first round intermediate values, so only closeness is guaranteed.
BOOST_AUTO_TEST_CASE(images_are_convolved_as_on_the_cpu_and_so_are_gradients) {
  for (const DType dtype : kFloats) {
    const double rtol = testing::tolerance_of(dtype);
    const double atol = 100.0 * rtol;  // sums of up to 72 products below 5
    for (const Case& c : cases()) {
      const Tensor x = whole_values(c.x, dtype);
      const Tensor weight = whole_values(c.weight, dtype);
      const Tensor bias = whole_values({c.weight[0]}, dtype);
      expect_close_on_gpu(
          rtol, atol, [&](const Tensor& a, const Tensor& w, const Tensor& b) { return conv2d(a, w, b, c.options); }, x,
          weight, bias);
      const Tensor grad = whole_values(conv2d(x, weight, {}, c.options).shape(), dtype);
      expect_close_on_gpu(
          rtol, atol, [&](const Tensor& g, const Tensor& w) { return conv2d_backward_input(g, w, c.x, c.options); },
          grad, weight);
      expect_close_on_gpu(
          rtol, atol,
          [&](const Tensor& g, const Tensor& a) { return conv2d_backward_weight(g, a, c.weight, c.options); }, grad, x);
    }
  }
}

BOOST_AUTO_TEST_CASE(lines_and_transposed_convolutions_are_as_on_the_cpu) {
  for (const DType dtype : kFloats) {
    const double rtol = testing::tolerance_of(dtype);
    const double atol = 100.0 * rtol;
    const auto line = [](const Tensor& x, const Tensor& w, const Tensor& b) {
      return conv1d(x, w, b, {.stride = 2, .padding = 1, .dilation = 2});
    };
    expect_close_on_gpu(rtol, atol, line, whole_values({2, 3, 20}, dtype), whole_values({4, 3, 3}, dtype),
                        whole_values({4}, dtype));
    const auto back = [](const Tensor& x, const Tensor& w, const Tensor& b) {
      return conv_transpose2d(x, w, b, {.stride = {2, 2}, .padding = {1, 0}, .output_padding = {1, 0}, .groups = 2});
    };
    expect_close_on_gpu(rtol, atol, back, whole_values({2, 4, 5, 6}, dtype), whole_values({4, 3, 3, 2}, dtype),
                        whole_values({6}, dtype));
    // The output padding reaches the stride: more windows fit than there are pixels.
    const auto more = [](const Tensor& x, const Tensor& w) {
      return conv_transpose2d(x, w, {}, {.output_padding = {2, 0}, .dilation = {3, 1}});
    };
    expect_close_on_gpu(rtol, atol, more, whole_values({2, 4, 5, 6}, dtype), whole_values({4, 3, 3, 2}, dtype));
    const auto line_back = [](const Tensor& x, const Tensor& w) { return conv_transpose1d(x, w, {}, {.stride = 3}); };
    expect_close_on_gpu(rtol, atol, line_back, whole_values({2, 4, 5}, dtype), whole_values({4, 3, 3}, dtype));
  }
}

BOOST_AUTO_TEST_CASE(nothing_to_convolve_leaves_the_bias) {
  const auto bias_alone = [](const Tensor& x, const Tensor& w, const Tensor& b) { return conv2d(x, w, b); };
  expect_same_on_gpu(bias_alone, zeros({2, 0, 4, 4}), zeros({3, 0, 2, 2}), whole_values({3}, DType::f32));
}

BOOST_AUTO_TEST_CASE(f32_is_multiplied_as_f32_and_the_same_every_time) {
  Generator generator(1);
  const Tensor x = randn({4, 32, 14, 14}, generator);
  const Tensor weight = randn({16, 32, 3, 3}, generator);
  const auto convolved = [](const Tensor& a, const Tensor& w) { return conv2d(a, w, {}, {.padding = {1, 1}}); };
  // TF32 would be off by 1e-2; results are about 17.
  expect_close_on_gpu(1e-4, 1e-3, convolved, x, weight);
  const Tensor there = x.to(testing::kGpu);
  const Tensor filters = weight.to(testing::kGpu);
  const Tensor grad = randn({4, 16, 14, 14}, generator).to(testing::kGpu);
  const auto by_weight = [&] { return conv2d_backward_weight(grad, there, weight.shape(), {.padding = {1, 1}}); };
  expect_same(convolved(there, filters), convolved(there, filters));
  expect_same(by_weight(), by_weight());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
