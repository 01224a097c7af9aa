#include "autograd/nn/conv.h"

#include "autograd/engine.h"
#include "autograd/ops/conv.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_conv)

namespace {

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : module.named_parameters()) names.push_back(name);
  return names;
}

// Returns whether the largest magnitude is below `bound`, but close to it.
bool fills(const Variable& values, double bound) {
  const double largest = max(abs(values.value())).item();
  return largest <= bound && largest > 0.8 * bound;
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_have_the_shapes_of_torch_and_lie_in_their_bounds) {
  Generator g(1);
  const nn::Conv2d image(6, 9, {5, 2}, g, {.groups = 3});
  BOOST_CHECK_EQUAL(image.weight().shape(), (Shape{9, 2, 5, 2}));
  BOOST_CHECK(fills(image.weight(), 0.2236068));  // 1 / sqrt(2 * 5 * 2)
  BOOST_CHECK_EQUAL(nn::Conv2d(1, 8, 3, g).weight().shape(), (Shape{8, 1, 3, 3}));
  BOOST_CHECK_EQUAL(nn::ConvTranspose2d(1, 8, 3, g).weight().shape(), (Shape{1, 8, 3, 3}));
  BOOST_CHECK_EQUAL(image.bias().shape(), Shape{9});
  BOOST_CHECK(names_of(image) == (std::vector<std::string>{"weight", "bias"}));
  const nn::Conv1d line(8, 16, 5, g, {.groups = 2}, nn::Bias::no);
  BOOST_CHECK_EQUAL(line.weight().shape(), (Shape{16, 4, 5}));
  BOOST_CHECK(names_of(line) == std::vector<std::string>{"weight"});
  BOOST_CHECK(!line.bias().defined());
  const nn::ConvTranspose2d up(6, 9, {5, 2}, g, {.groups = 3});
  BOOST_CHECK_EQUAL(up.weight().shape(), (Shape{6, 3, 5, 2}));
  BOOST_CHECK(fills(up.weight(), 0.1825742));  // 1 / sqrt(3 * 5 * 2)
  BOOST_CHECK_EQUAL(up.bias().shape(), Shape{9});
  const nn::ConvTranspose1d longer(8, 200, 25, g, {}, nn::Bias::yes, DType::f64);
  BOOST_CHECK_EQUAL(longer.weight().shape(), (Shape{8, 200, 25}));
  BOOST_CHECK(fills(longer.bias(), 0.0141421));  // 1 / sqrt(200 * 25)
  BOOST_CHECK(longer.weight().dtype() == DType::f64);
}

BOOST_AUTO_TEST_CASE(layers_compute_what_their_operations_do) {
  Generator g(2);
  const Variable line = randn({2, 4, 9}, g);
  const Variable image = randn({2, 4, 5, 6}, g);
  const Conv1dOptions o1{.stride = 2, .padding = 1, .dilation = 2, .groups = 2};
  const Conv2dOptions o2{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2};
  const ConvTranspose1dOptions t1{.stride = 3, .padding = 1, .output_padding = 2, .groups = 2};
  const ConvTranspose2dOptions t2{.stride = {2, 1}, .padding = {0, 1}, .output_padding = {1, 0}, .groups = 2};
  nn::Conv1d a(4, 6, 3, g, o1);
  nn::Conv2d b(4, 6, {3, 2}, g, o2, nn::Bias::no);
  nn::ConvTranspose1d c(4, 6, 3, g, t1);
  nn::ConvTranspose2d d(4, 6, {3, 2}, g, t2, nn::Bias::no);
  BOOST_CHECK(same_bytes(a(line).value(), conv1d(line, a.weight(), a.bias(), o1).value()));
  BOOST_CHECK(same_bytes(b(image).value(), conv2d(image, b.weight(), {}, o2).value()));
  BOOST_CHECK(same_bytes(c(line).value(), conv_transpose1d(line, c.weight(), c.bias(), t1).value()));
  BOOST_CHECK(same_bytes(d(image).value(), conv_transpose2d(image, d.weight(), {}, t2).value()));
}

BOOST_AUTO_TEST_CASE(sizes_that_make_no_layer_are_refused) {
  Generator g(3);
  const auto refused = [](const std::string& text, const std::function<void()>& f) {
    expect_throw<ValueError>(f, text);
  };
  refused("[Conv1d] sizes below 1: 0 -> 2, kernel (3)", [&] { nn::Conv1d(0, 2, 3, g); });
  refused("[ConvTranspose2d] sizes below 1: 1 -> 2, kernel (3, 0)", [&] { nn::ConvTranspose2d(1, 2, {3, 0}, g); });
  refused("[ConvTranspose1d] sizes below 1: 1 -> 0, kernel (3)", [&] { nn::ConvTranspose1d(1, 0, 3, g); });
  refused("[Conv2d] channels do not divide into 3 groups: 6 -> 4", [&] { nn::Conv2d(6, 4, {1, 1}, g, {.groups = 3}); });
  refused("[Conv1d] channels do not divide into 2 groups: 3 -> 4", [&] { nn::Conv1d(3, 4, 1, g, {.groups = 2}); });
  refused("[Conv1d] channels do not divide into 0 groups: 3 -> 4", [&] { nn::Conv1d(3, 4, 1, g, {.groups = 0}); });
}

BOOST_AUTO_TEST_SUITE_END()
