#include "samples/parameter_server/digit_net.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops/nn.h"
#include "samples/parameter_server/glyphs.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

BOOST_AUTO_TEST_SUITE(digit_net)

namespace {

samples::Batch first_digits(std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return samples::batch(samples::draw_glyphs(count, 1), rows);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_has_1199882_parameters) {
  std::int64_t count = 0;
  for (const troupe::Variable& parameter : samples::DigitNet(1).parameters()) count += parameter.value().numel();
  // 32*9 + 32, 64*32*9 + 64, 128*9216 + 128, 10*128 + 10
  BOOST_TEST(count == 1'199'882);
}

BOOST_AUTO_TEST_CASE(it_classifies_without_dropout_and_goes_on_to_train) {
  samples::DigitNet net(1);
  const samples::Batch digits = first_digits(8);
  const troupe::Tensor once = net.classify(digits.images);
  BOOST_TEST(once.shape() == troupe::Shape{8});
  BOOST_TEST(same_bytes(once, net.classify(digits.images)));
  BOOST_TEST(!same_bytes(net.forward(digits.images).value(), net.forward(digits.images).value()));
}

BOOST_AUTO_TEST_CASE(after_images_of_a_wrong_shape_it_goes_on_to_train) {
  samples::DigitNet net(1);
  const samples::Batch digits = first_digits(8);
  BOOST_CHECK_THROW((void)net.classify(troupe::zeros({8, 1, 14, 14})), troupe::ShapeError);
  BOOST_TEST(!same_bytes(net.forward(digits.images).value(), net.forward(digits.images).value()));
}

BOOST_AUTO_TEST_CASE(a_step_along_the_gradient_lowers_the_loss_of_the_same_digits) {
  samples::DigitNet net(1);
  const samples::Batch digits = first_digits(32);
  const auto loss = [&] {
    net.eval();
    return cross_entropy(net.forward(digits.images), digits.labels);
  };
  const troupe::Variable before = loss();
  const troupe::Gradients gradients = troupe::backward(before);
  for (const troupe::Variable& parameter : net.parameters()) {
    parameter.set_value(parameter.value() - gradients.of(parameter) * 0.03);
  }
  BOOST_TEST(loss().value().item() < before.value().item());
}

BOOST_AUTO_TEST_SUITE_END()
