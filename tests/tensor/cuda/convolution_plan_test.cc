#include "tensor/cuda/convolution_plan.h"

#include <algorithm>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/conv.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_convolution_plan)

namespace {

using cuda::AlgorithmOffer;
using cuda::choose_algorithm;
using cuda::ConvolutionPlan;
using cuda::Place;
using cuda::strides_of;
using cuda::Target;
using testing::whole_values;

/// Computes in f64 what cuDNN computes: one product after the other, at the places of a plan.
class SlowLibrary {
 public:
  explicit SlowLibrary(std::int64_t elements_max = 1 << 30) : elements_max_(elements_max) {}

  [[nodiscard]] std::int64_t elements_max() const { return elements_max_; }

  void forward(const ConvolutionPlan& plan, const Place& y, const Place& x, const Place& weight) const {
    ++calls;
    clear(plan.y, y);
    for_each_product(plan, [&](std::size_t in_x, std::size_t in_weight, std::size_t in_y) {
      at(y, in_y) += at(x, in_x) * at(weight, in_weight);
    });
  }
  void backward_input(const ConvolutionPlan& plan, const Place& dx, const Place& dy, const Place& weight) const {
    ++calls;
    clear(plan.x, dx);
    for_each_product(plan, [&](std::size_t in_x, std::size_t in_weight, std::size_t in_y) {
      at(dx, in_x) += at(dy, in_y) * at(weight, in_weight);
    });
  }
  void backward_weight(const ConvolutionPlan& plan, const Place& dw, const Place& dy, const Place& x,
                       Target target) const {
    ++calls;
    if (target == Target::replaced) clear(plan.weight, dw);
    for_each_product(plan, [&](std::size_t in_x, std::size_t in_weight, std::size_t in_y) {
      at(dw, in_weight) += at(dy, in_y) * at(x, in_x);
    });
  }

  mutable int calls = 0;

 private:
  static double& at(const Place& place, std::size_t i) { return cuda::address<double>(place)[i]; }
  static void clear(const std::array<int, 4>& sizes, const Place& place) {
    const int count = sizes[0] * strides_of(sizes)[0];
    for (int i = 0; i < count; ++i) at(place, static_cast<std::size_t>(i)) = 0.0;
  }

  template <class F>
  static void for_each_product(const ConvolutionPlan& p, const F& f) {
    BOOST_REQUIRE(p.x[1] == p.weight[1] * p.groups);
    BOOST_REQUIRE(p.y[0] == p.x[0]);
    BOOST_REQUIRE(p.y[1] == p.weight[0]);
    for (std::size_t d = 0; d < 2; ++d) {  // as cudnnGetConvolutionNdForwardOutputDim returns it
      BOOST_REQUIRE(p.y[d + 2] ==
                    (p.x[d + 2] + 2 * p.padding[d] - p.dilation[d] * (p.weight[d + 2] - 1) - 1) / p.stride[d] + 1);
    }
    const auto offset = [](const std::array<int, 4>& sizes, int a, int b, int c, int d) {
      const auto s = strides_of(sizes);
      return static_cast<std::size_t>(a * s[0] + b * s[1] + c * s[2] + d * s[3]);
    };
    const int filters = p.weight[0] / p.groups;
    const auto taps = [&](int n, int o, int i, int j) {
      for (int c = 0; c < p.weight[1]; ++c) {
        for (int u = 0; u < p.weight[2]; ++u) {
          for (int v = 0; v < p.weight[3]; ++v) {
            const int row = i * p.stride[0] - p.padding[0] + u * p.dilation[0];
            const int column = j * p.stride[1] - p.padding[1] + v * p.dilation[1];
            if (row < 0 || row >= p.x[2] || column < 0 || column >= p.x[3]) continue;
            f(offset(p.x, n, o / filters * p.weight[1] + c, row, column), offset(p.weight, o, c, u, v),
              offset(p.y, n, o, i, j));
          }
        }
      }
    };
    for (int n = 0; n < p.y[0]; ++n) {
      for (int o = 0; o < p.y[1]; ++o) {
        for (int i = 0; i < p.y[2]; ++i) {
          for (int j = 0; j < p.y[3]; ++j) taps(n, o, i, j);
        }
      }
    }
  }

  std::int64_t elements_max_;
};

struct Case {
  Shape x;
  Shape weight;
  Shape y;
  Conv2dOptions options;
};

/// The last two come from transposed convolutions whose output padding is at least their stride.
std::vector<Case> cases() {
  return {{{3, 2, 5, 6}, {4, 2, 3, 2}, {3, 4, 3, 5}, {}},
          {{3, 6, 7, 8}, {4, 3, 3, 2}, {3, 4, 4, 5}, {{2, 1}, {1, 0}, {1, 3}, 2}},
          {{2, 3, 4, 4}, {3, 1, 3, 3}, {2, 3, 2, 2}, {{2, 2}, {1, 1}, {1, 1}, 3}},
          {{1, 1, 1, 9}, {2, 1, 1, 3}, {1, 2, 1, 4}, {{1, 2}, {0, 0}, {1, 1}, 1}},
          {{2, 2, 9, 10}, {3, 2, 2, 2}, {2, 3, 4, 5}, {{1, 1}, {0, 1}, {3, 3}, 1}},
          {{2, 2, 6, 6}, {3, 2, 2, 2}, {2, 3, 3, 2}, {{1, 2}, {1, 2}, {3, 4}, 1}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_plan_says_what_the_shapes_and_options_say) {
  const ConvolutionPlan plan =
      cuda::plan_convolution(DType::f32, {2, 6, 7, 8}, {4, 3, 5, 2}, {2, 4, 3, 9}, {{2, 1}, {1, 3}, {1, 4}, 2});
  const ConvolutionPlan expected{.dtype = DType::f32,
                                 .x = {2, 6, 7, 8},
                                 .weight = {4, 3, 5, 2},
                                 .y = {2, 4, 3, 9},
                                 .padding = {1, 3},
                                 .stride = {2, 1},
                                 .dilation = {1, 4},
                                 .groups = 2};
  BOOST_CHECK(plan == expected);
  BOOST_CHECK((strides_of(plan.x) == std::array{336, 56, 8, 1}));  // 6 * 7 * 8, 7 * 8
  expect_error<ShapeError>("[convolution] a number above 2^31 - 1: 2147483648", [] {
    (void)cuda::plan_convolution(DType::f32, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1},
                                 {{1, 1}, {0, std::int64_t{1} << 31}});
  });
}

BOOST_AUTO_TEST_CASE(calls_make_the_convolutions_of_the_cpu) {
  for (const Case& c : cases()) {
    const Tensor x = whole_values(c.x, DType::f64);
    const Tensor weight = whole_values(c.weight, DType::f64);
    const Tensor dy = whole_values(c.y, DType::f64);
    // Whole numbers: sums are exact in any order.
    const auto expect = [&](const Shape& shape, const auto& on_cpu, const auto& with) {
      Tensor expected = Tensor::empty(shape, DType::f64);
      Tensor got = full(shape, -1.0, DType::f64);
      on_cpu(expected);
      with(got);
      expect_same(got, expected);
    };
    const std::int64_t largest = std::max(c.x.numel() / c.x[0], 2 * c.y.numel());
    for (const std::int64_t elements_max : {std::int64_t{1} << 30, largest}) {
      const SlowLibrary library(elements_max);
      expect(
          c.y, [&](Tensor& y) { cpu::convolution_kernels.convolve(y, x, weight, {}, c.options); },
          [&](Tensor& y) { cuda::convolve_with(library, y, x, weight, c.options); });
      expect(
          c.x, [&](Tensor& dx) { cpu::convolution_kernels.convolve_backward_input(dx, dy, weight, c.options); },
          [&](Tensor& dx) { cuda::convolve_backward_input_with(library, dx, dy, weight, c.options); });
      expect(
          c.weight, [&](Tensor& dw) { cpu::convolution_kernels.convolve_backward_weight(dw, dy, x, c.options); },
          [&](Tensor& dw) { cuda::convolve_backward_weight_with(library, dw, dy, x, c.options); });
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_too_large_to_count_is_cut) {
  // Images of 12 and results of 8 elements: 3 images in 40 of them.
  const Tensor x = whole_values({7, 3, 2, 2}, DType::f64);
  const Tensor weight = whole_values({2, 3, 1, 1}, DType::f64);
  BOOST_TEST(cuda::images_at_once(x.shape(), {7, 2, 2, 2}, 40) == 3);
  BOOST_TEST(cuda::images_at_once({7, 1, 1, 2}, {7, 5, 2, 2}, 40) == 2);
  BOOST_TEST(cuda::images_at_once(x.shape(), {7, 2, 2, 2}, 1000) == 7);
  expect_error<ShapeError>("[convolution] more than 2^31 - 1 elements in an image: (7, 3, 2, 2)", [&] {
    (void)cuda::images_at_once(x.shape(), {7, 2, 2, 2}, 11);
  });
  const SlowLibrary library(40);
  Tensor y = Tensor::empty({7, 2, 2, 2}, DType::f64);
  cuda::convolve_with(library, y, x, weight, {});
  BOOST_TEST(library.calls == 3);
  expect_same(y, conv2d(x, weight));
  Tensor dw = Tensor::empty(weight.shape(), DType::f64);
  cuda::convolve_backward_weight_with(library, dw, y, x, {});
  BOOST_TEST(library.calls == 6);
  expect_same(dw, conv2d_backward_weight(y, x, weight.shape()));
}

BOOST_AUTO_TEST_CASE(the_first_algorithm_is_taken_that_will_do) {
  constexpr std::size_t kMuch = cuda::kWorkspaceMax + 1;
  const AlgorithmOffer refused{.number = 0, .works = false, .deterministic = true, .exact = true, .workspace = 0};
  const AlgorithmOffer random{.number = 1, .works = true, .deterministic = false, .exact = true, .workspace = 0};
  const AlgorithmOffer rounding{.number = 2, .works = true, .deterministic = true, .exact = false, .workspace = 0};
  const AlgorithmOffer huge{.number = 3, .works = true, .deterministic = true, .exact = true, .workspace = kMuch + 1};
  const AlgorithmOffer large{.number = 4, .works = true, .deterministic = true, .exact = true, .workspace = kMuch};
  const AlgorithmOffer good{
      .number = 5, .works = true, .deterministic = true, .exact = true, .workspace = cuda::kWorkspaceMax};
  const auto chosen = [](std::initializer_list<AlgorithmOffer> offers) {
    const auto place = choose_algorithm(std::span(offers.begin(), offers.size()));
    return place ? (offers.begin() + *place)->number : -1;
  };
  BOOST_TEST(chosen({refused, random, rounding, large, good}) == 5);
  BOOST_TEST(chosen({random, huge, large, refused}) == 4);
  BOOST_TEST(chosen({large, huge}) == 4);
  BOOST_TEST(chosen({refused, random, rounding}) == -1);
  BOOST_TEST(chosen({}) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
