#include "tensor/ops/image.h"

#include <limits>

#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_image)

namespace {

constexpr InterpolateMode kLinear = InterpolateMode::linear;
constexpr InterpolateMode kBilinear = InterpolateMode::bilinear;

Tensor line(std::initializer_list<double> values) {
  return from_values<double>(values, {1, 1, static_cast<std::int64_t>(values.size())});
}

/// Returns the same values in memory that does not follow the order of the dimensions.
Tensor turned(const Tensor& x) { return x.transpose().contiguous().transpose(); }

}  // namespace

BOOST_AUTO_TEST_CASE(channels_become_pixels_and_back) {
  const Tensor x = arange(8).reshape({1, 4, 1, 2});
  // Channels 0 and 1 become the upper left and right pixels, 2 and 3 the lower ones.
  expect_same(pixel_shuffle(x, 2), from_values<std::int64_t>({0, 2, 1, 3, 4, 6, 5, 7}, {1, 1, 2, 4}));
  expect_same(pixel_unshuffle(pixel_shuffle(x, 2), 2), x);
  Generator g(1);
  const Tensor many = randn({2, 3, 18, 4, 5}, g);
  BOOST_CHECK_EQUAL(pixel_shuffle(many, 3).shape(), (Shape{2, 3, 2, 12, 15}));
  expect_same(pixel_unshuffle(pixel_shuffle(turned(many), 3), 3), many);
  BOOST_CHECK_EQUAL(pixel_shuffle(zeros({0, 4, 2, 2}), 2).shape(), (Shape{0, 1, 4, 4}));
  expect_same(pixel_shuffle(x, 1), x);
  expect_error<ShapeError>("[pixel_shuffle] no 2 x 2 pixels in the channels: (1, 6, 2, 2)", [] {
    (void)pixel_shuffle(zeros({1, 6, 2, 2}), 2);
  });
  expect_error<ShapeError>("[pixel_shuffle] no 2 x 2 pixels in the channels: (4, 2)", [] {
    (void)pixel_shuffle(zeros({4, 2}), 2);
  });
  expect_error<ValueError>("[pixel_shuffle] factor below 1: 0", [] { (void)pixel_shuffle(zeros({1, 6, 2, 2}), 0); });
  expect_error<ShapeError>("[pixel_unshuffle] no 2 x 2 pixels in the image: (1, 6, 2, 3)", [] {
    (void)pixel_unshuffle(zeros({1, 6, 2, 3}), 2);
  });
  expect_error<ValueError>("[pixel_unshuffle] factor below 1: -1", [] {
    (void)pixel_unshuffle(zeros({1, 6, 2, 2}), -1);
  });
}

BOOST_AUTO_TEST_CASE(the_nearest_pixel_is_the_one_before) {
  const Tensor x = line({1, 2, 3});
  expect_same(interpolate(x, {.size = {6}}), line({1, 1, 2, 2, 3, 3}));
  expect_same(interpolate(x, {.size = {4}}), line({1, 1, 2, 3}));     // 0, 3/4, 6/4, 9/4
  expect_same(interpolate(x, {.size = {2}}), line({1, 2}));           // 0, 3/2
  expect_same(interpolate(x, {.scale = {1.5}}), line({1, 1, 2, 3}));  // 0, 2/3, 4/3, 2
  const Tensor far = interpolate(line({0, 1}).to(DType::f32), {.size = {82}});
  expect_same(far.slice(2, 40, 42), line({0, 1}).to(DType::f32));  // 40 * 2/82, 41 * 2/82 = 1
  // The scale counts also where the size stays: 0, 1/1.2, 2/1.2.
  expect_same(interpolate(x, {.scale = {1.2}}), line({1, 1, 2}));
  const Tensor corners = from_values<double>({0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 2, 2});
  expect_same(interpolate(corners, {.scale = {1.3}}), from_values<double>({0, 0, 0, 0, 4, 4, 4, 4}, {1, 2, 2, 2}));
  expect_same(interpolate(corners, {.size = {2}}), corners);
  const Tensor image = arange(6).reshape({1, 1, 2, 3});
  expect_same(interpolate(image, {.scale = {2.0, 1.0}}),
              from_values<std::int64_t>({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}, {1, 1, 4, 3}));
  expect_same(interpolate(image, {.size = {1}}), from_values<std::int64_t>({0}, {1, 1, 1, 1}));
}

BOOST_AUTO_TEST_CASE(pixels_between_two_or_four_are_their_weighted_mean) {
  const Tensor x = line({0, 4});
  // The new pixels are at 1/4, 3/4, 5/4 and 7/4 of the line, the old ones at 1/2 and 3/2.
  expect_close(interpolate(x, {.size = {4}, .mode = kLinear}), line({0, 1, 3, 4}), 1e-15);
  expect_close(interpolate(x, {.size = {5}, .mode = kLinear, .align_corners = true}), line({0, 1, 2, 3, 4}), 1e-15);
  expect_close(interpolate(line({0, 4, 8, 12}), {.size = {2}, .mode = kLinear}), line({2, 10}), 1e-15);
  expect_close(interpolate(line({0, 4, 8}), {.size = {1}, .mode = kLinear, .align_corners = true}), line({0}), 1e-15);
  // 1.5 times as many pixels with a step of 1/1.5: at -1/6, 1/2 and 7/6
  expect_close(interpolate(x, {.scale = {1.5}, .mode = kLinear}), line({0, 2, 4}), 1e-14);
  const Tensor image = from_values<double>({0, 2, 4, 6}, {1, 1, 2, 2});
  const Tensor expected = from_values<double>({0, 1, 2, 2, 3, 4, 4, 5, 6}, {1, 1, 3, 3});
  expect_close(interpolate(image, {.size = {3}, .mode = kBilinear, .align_corners = true}), expected, 1e-15);
  expect_close(interpolate(image, {.size = {3, 3}, .mode = kBilinear}), expected, 1e-14);
  expect_close(interpolate(image, {.size = {2, 3}, .mode = kBilinear, .align_corners = true}),
               from_values<double>({0, 1, 2, 4, 5, 6}, {1, 1, 2, 3}), 1e-15);
}

BOOST_AUTO_TEST_CASE(interpolation_takes_any_layout_and_16_bits_and_nothing) {
  Generator g(2);
  const Tensor x = randn({2, 3, 4, 5}, g);
  for (const InterpolateMode mode : {InterpolateMode::nearest, kBilinear}) {
    const InterpolateOptions options{.size = {7, 3}, .mode = mode};
    expect_same(interpolate(turned(x), options), interpolate(x, options));
    expect_rounded([&](const Tensor& a) { return interpolate(a, options); }, x);
    BOOST_CHECK_EQUAL(interpolate(zeros({0, 3, 4, 5}), options).shape(), (Shape{0, 3, 7, 3}));
  }
  expect_same(interpolate(x, {.scale = {1.0}, .mode = kBilinear}), x);
}

BOOST_AUTO_TEST_CASE(interpolation_that_does_not_fit_is_named) {
  const auto fails = [](const Shape& shape, const InterpolateOptions& options, DType dtype = DType::f32) {
    (void)interpolate(zeros(shape, dtype), options);
  };
  const std::string op = "[interpolate] ";
  expect_error<ShapeError>(op + "not (n, c, h, w): (2, 3)", [&] { fails({2, 3}, {.size = {2}}); });
  expect_error<ShapeError>(op + "not (n, c, h, w): (2, 3, 4)", [&] {
    fails({2, 3, 4}, {.size = {2}, .mode = kBilinear});
  });
  expect_error<ShapeError>(op + "not (n, c, l): (2, 3, 4, 5)", [&] {
    fails({2, 3, 4, 5}, {.size = {2}, .mode = kLinear});
  });
  expect_error<ShapeError>(op + "nothing to enlarge: (1, 2, 0, 3)", [&] { fails({1, 2, 0, 3}, {.size = {2}}); });
  expect_error<ValueError>(op + "size or scale, one of both", [&] { fails({1, 2, 3}, {}); });
  expect_error<ValueError>(op + "size or scale, one of both", [&] { fails({1, 2, 3}, {.size = {2}, .scale = {2}}); });
  expect_error<ValueError>(op + "3 numbers for 2 dimensions", [&] { fails({1, 2, 3, 3}, {.size = {2, 2, 2}}); });
  expect_error<ValueError>(op + "size below 1: 0", [&] { fails({1, 2, 3}, {.size = {0}}); });
  expect_error<ValueError>(op + "size below 1: 0", [&] { fails({1, 2, 3}, {.scale = {0.2}}); });
  expect_error<ValueError>(op + "scale not above 0: -1", [&] { fails({1, 2, 3}, {.scale = {-1}}); });
  expect_error<ValueError>(op + "nearest has no corners", [&] {
    fails({1, 2, 3}, {.size = {2}, .align_corners = true});
  });
  expect_error<DTypeError>(op + "needs a floating dtype: i64", [&] {
    fails({1, 2, 3}, {.size = {2}, .mode = kLinear}, DType::i64);
  });
}

BOOST_AUTO_TEST_CASE(windows_become_columns_and_add_up_to_images) {
  const Tensor x = arange(1.0, 7.0, 1.0, DType::f64).reshape({1, 1, 2, 3});
  const UnfoldOptions two{.kernel = {2, 2}};
  // Windows 1 2 4 5 and 2 3 5 6, as columns.
  const Tensor columns = from_values<double>({1, 2, 2, 3, 4, 5, 5, 6}, {1, 4, 2});
  expect_same(unfold(x, two), columns);
  expect_same(fold(columns, {2, 3}, two), from_values<double>({1, 4, 3, 4, 10, 6}, {1, 1, 2, 3}));
  const UnfoldOptions wide{.kernel = {1, 2}, .dilation = {1, 2}, .padding = {0, 1}, .stride = {1, 2}};
  // Padded: 0 1 2 3 0. Windows: elements 0 and 2, 2 and 4.
  expect_same(unfold(x.slice(2, 0, 1), wide), from_values<double>({0, 2, 2, 0}, {1, 2, 2}));
  expect_same(fold(ones({1, 2, 2}), {1, 3}, wide), from_values<float>({0, 2, 0}, {1, 1, 1, 3}));
  expect_same(unfold(arange(6).reshape({1, 2, 1, 3}), {.kernel = {1, 2}}),
              from_values<std::int64_t>({0, 1, 1, 2, 3, 4, 4, 5}, {1, 4, 2}));
}

BOOST_AUTO_TEST_CASE(windows_take_any_layout_and_fold_is_the_transpose_of_unfold) {
  Generator g(3);
  const UnfoldOptions options{.kernel = {3, 2}, .dilation = {1, 2}, .padding = {2, 1}, .stride = {2, 1}};
  const Tensor x = randn({2, 3, 5, 6}, g, DType::f64);
  const Tensor columns = unfold(x, options);
  expect_same(unfold(turned(x), options), columns);
  const Tensor y = randn(columns.shape(), g, DType::f64);
  const Tensor image = fold(y, {5, 6}, options);
  expect_same(fold(turned(y), {5, 6}, options), image);
  expect_close(sum(mul(columns, y)), sum(mul(x, image)), 1e-12);
  expect_rounded([&](const Tensor& a) { return fold(a, {5, 6}, options); }, y.to(DType::f32));
  BOOST_CHECK_EQUAL(unfold(zeros({0, 3, 5, 6}), options).size(0), 0);
  BOOST_CHECK_EQUAL(fold(zeros({0, 18, 24}), {5, 6}, options).shape(), (Shape{0, 3, 5, 6}));
}

BOOST_AUTO_TEST_CASE(impossible_sizes_of_images_are_refused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  expect_error<ShapeError>("[pixel_shuffle] no 4294967296 x 4294967296 pixels in the channels: (1, 4, 2, 2)", [] {
    (void)pixel_shuffle(zeros({1, 4, 2, 2}), kHuge);
  });
  expect_error<ValueError>("[interpolate] size above 2^31 - 1: 4294967296", [] {
    (void)interpolate(zeros({1, 1, 2}), {.size = {kHuge}});
  });
  expect_error<ValueError>("[interpolate] size above 2^31 - 1: inf", [] {
    (void)interpolate(zeros({1, 1, 2}), {.scale = {std::numeric_limits<double>::infinity()}});
  });
}

BOOST_AUTO_TEST_CASE(windows_that_do_not_fit_are_named) {
  expect_error<ShapeError>("[unfold] not (n, c, h, w): (2, 3)", [] { (void)unfold(zeros({2, 3})); });
  expect_error<ShapeError>("[unfold] window larger than the padded image: (3, 3) over (1, 1, 2, 2)", [] {
    (void)unfold(zeros({1, 1, 2, 2}));
  });
  expect_error<ValueError>("[unfold] stride below 1: (0, 1)", [] {
    (void)unfold(zeros({1, 1, 4, 4}), {.stride = {0, 1}});
  });
  const std::string op = "[fold] ";
  const UnfoldOptions two{.kernel = {2, 2}};
  expect_error<ShapeError>(op + "(1, 12, 5) does not hold the windows (12, 4) of (3, 3)", [&] {
    (void)fold(zeros({1, 12, 5}), {3, 3}, two);
  });
  expect_error<ShapeError>(op + "(1, 13, 4) does not hold the windows (12, 4) of (3, 3)", [&] {
    (void)fold(zeros({1, 13, 4}), {3, 3}, two);
  });
  expect_error<ShapeError>(op + "(4, 4) does not hold the windows (0, 4) of (3, 3)", [&] {
    (void)fold(zeros({4, 4}), {3, 3}, two);
  });
  expect_error<ValueError>(op + "window below 1: (0, 2)", [] {
    (void)fold(zeros({1, 4, 4}), {3, 3}, {.kernel = {0, 2}});
  });
  expect_error<DTypeError>(op + "needs a floating dtype: i64", [&] {
    (void)fold(zeros({1, 4, 4}, DType::i64), {3, 3}, two);
  });
}

BOOST_AUTO_TEST_SUITE_END()
