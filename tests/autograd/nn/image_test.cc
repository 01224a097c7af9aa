#include "autograd/nn/image.h"

#include "autograd/ops/image.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_image)

BOOST_AUTO_TEST_CASE(layers_of_images_pass_on_what_they_were_made_with) {
  Generator generator(1);
  const Variable x(randn({2, 4, 4, 6}, generator));
  const auto same_as = [](const Variable& got, const Variable& expected) {
    BOOST_CHECK_EQUAL(got.shape(), expected.shape());
    BOOST_CHECK(same_bytes(got.value(), expected.value()));
  };
  const InterpolateOptions larger{.scale = {2.0}, .mode = InterpolateMode::bilinear, .align_corners = true};
  same_as(nn::Upsample(larger)(x), interpolate(x, larger));
  same_as(nn::PixelShuffle(2)(x), pixel_shuffle(x, 2));
  same_as(nn::PixelUnshuffle(2)(x), pixel_unshuffle(x, 2));
  const UnfoldOptions windows{.kernel = {2, 3}, .stride = {2, 3}};
  const Variable columns = nn::Unfold(windows)(x);
  same_as(columns, unfold(x, windows));
  same_as(nn::Fold({4, 6}, windows)(columns), x);  // windows that do not overlap
  same_as(nn::Unfold()(x), unfold(x));
}

BOOST_AUTO_TEST_SUITE_END()
