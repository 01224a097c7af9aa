#include "autograd/ops/image.h"

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_image)

namespace {

Variable random(const Shape& shape) {
  Generator generator(1);
  return Variable(randn(shape, generator, DType::f64), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_of_images_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return pixel_shuffle(v[0], 2); }, {random({1, 4, 2, 1})});
  expect_gradcheck([](Inputs v) { return pixel_unshuffle(v[0], 2); }, {random({2, 2, 4})});
  for (const InterpolateMode mode : {InterpolateMode::nearest, InterpolateMode::bilinear}) {
    expect_gradcheck(
        [&](Inputs v) {
          return interpolate(v[0], {.size = {5, 2}, .mode = mode});
        },
        {random({1, 2, 3, 4})});
    expect_gradcheck([&](Inputs v) { return interpolate(v[0], {.scale = {1.7}, .mode = mode}); },
                     {random({2, 1, 3, 2})});
  }
  const InterpolateOptions corners{.size = {5}, .mode = InterpolateMode::linear, .align_corners = true};
  expect_gradcheck([&](Inputs v) { return interpolate(v[0], corners); }, {random({2, 1, 3})});
  const UnfoldOptions options{.kernel = {2, 3}, .dilation = {2, 1}, .padding = {1, 1}, .stride = {1, 2}};
  expect_gradcheck([&](Inputs v) { return unfold(v[0], options); }, {random({1, 2, 3, 3})});
  expect_gradcheck([&](Inputs v) { return fold(v[0], {3, 3}, options); }, {random({1, 12, 6})});
}

BOOST_AUTO_TEST_CASE(a_pixel_that_is_read_twice_gets_both_gradients) {
  const Variable x = leaf({1.0, 2.0}, {1, 1, 2});
  expect(gradient_of(x, interpolate(x, {.size = {4}})), {3.0, 7.0}, {1, 1, 2});  // 1 + 2, 3 + 4
  // Shares of the first: 1, 3/4, 1/4 and 0
  const Variable y = interpolate(x, {.size = {4}, .mode = InterpolateMode::linear});
  expect(gradient_of(x, y), {1.0 + 1.5 + 0.75, 0.5 + 2.25 + 4.0}, {1, 1, 2});
}

BOOST_AUTO_TEST_SUITE_END()
