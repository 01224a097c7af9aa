#include "samples/embed/moon_net.h"

#include <boost/test/unit_test.hpp>
#include <memory>

#include "autograd/engine.h"
#include "autograd/nn/linear.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "samples/embed/moons.h"
#include "tensor/generator.h"
#include "tensor/ops.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(moon_net)

namespace {

/// Returns the share of moons that `chances` classifies correctly.
double accuracy(const Tensor& chances, const samples::Moons& moons) {
  return mean(eq(gt(chances, 0.5).to(DType::i64), moons.upper).to(DType::f64)).item();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_new_network_tells_moons_apart_that_it_has_not_seen) {
  const samples::Moons held_out = samples::draw_moons(1000, 2);
  BOOST_TEST(accuracy(samples::MoonNet(1).chances(held_out.points), held_out) > 0.98);
}

BOOST_AUTO_TEST_CASE(a_straight_line_does_not) {
  const samples::Moons moons = samples::draw_moons(1000, 2);
  Generator generator(1);
  nn::Linear line(2, 2, generator);
  for (int step = 0; step < 500; ++step) {
    const Gradients gradients = backward(cross_entropy(line.forward(Variable(moons.points)), moons.upper));
    for (const Variable& parameter : line.parameters())
      parameter.set_value(parameter.value() - gradients.of(parameter) * 0.5);
  }
  const Tensor guesses = argmax(line.forward(Variable(moons.points)).value(), 1);
  BOOST_TEST(mean(eq(guesses, moons.upper).to(DType::f64)).item() < 0.95);
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_networks) {
  const Tensor points = samples::draw_moons(8, 2).points;
  BOOST_TEST(same_bytes(samples::MoonNet(1).chances(points), samples::MoonNet(1).chances(points)));
  BOOST_TEST(!same_bytes(samples::MoonNet(1).chances(points), samples::MoonNet(2).chances(points)));
}

BOOST_AUTO_TEST_SUITE_END()
