// The network of the demo: gradients as served, compared with one node and with plain calls.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/rref.h"
#include "autograd/engine.h"
#include "autograd/ops/nn.h"
#include "node/local_cluster.h"
#include "samples/parameter_server/digit_net.h"
#include "samples/parameter_server/glyphs.h"
#include "tensor/math_threads.h"
#include "tests/scenarios/random_delays.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sample_network)

namespace {

using samples::DigitNet;
using namespace std::chrono_literals;

constexpr std::uint64_t kNetSeed = 1;

DigitNet make_net(std::uint64_t seed) { return DigitNet(seed); }

std::vector<Tensor> gradients_of(Scope& scope, const RRef<DigitNet>& net) {
  std::vector<Tensor> found;
  for (const Variable& parameter : net.local_value(scope)->parameters())
    found.push_back(gradients(scope).of(parameter));
  return found;
}

FunctionRegistry net_functions() {
  return {{"make_net", &make_net}, {"forward", &DigitNet::forward}, {"gradients_of", &gradients_of}};
}

samples::Batch digits() {
  const std::vector<std::int64_t> rows{0, 1, 2, 3};
  return samples::batch(samples::draw_glyphs(4, 1), rows);
}

std::vector<Tensor> gradients_with_net_on(Node& trainer, const NodeName& owner) {
  const samples::Batch batch = digits();
  const auto net = trainer.remote(owner, &make_net, kNetSeed);
  DistContext context(trainer);
  backward(context, cross_entropy(net.rpc_sync(context, &DigitNet::forward, batch.images), batch.labels));
  return context.rpc_sync(owner, &gradients_of, net);
}

std::vector<Tensor> gradients_of_plain_calls() {
  const samples::Batch batch = digits();
  DigitNet net(kNetSeed);
  const Gradients found = backward(cross_entropy(net.forward(batch.images), batch.labels));
  std::vector<Tensor> result;
  for (const Variable& parameter : net.parameters()) result.push_back(found.of(parameter));
  return result;
}

void check_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    BOOST_CHECK_MESSAGE(same_bytes(got[i], expected[i]), "the gradient of parameter " << i << " differs");
  }
}

}  // namespace

// Every parameter is used once, so plain calls add in the same order.
BOOST_AUTO_TEST_CASE(its_gradients_are_those_on_one_node_and_of_plain_calls_bit_for_bit,
                     *boost::unit_test::label("B-09") * boost::unit_test::label("scenario-D4")) {
  const MathThreads one_as_in_served_functions(1);
  const std::vector<Tensor> plain = gradients_of_plain_calls();
  BOOST_REQUIRE_EQUAL(plain.size(), 8U);  // weight and bias of two convolutions and two dense layers
  for (const Tensor& gradient : plain) BOOST_TEST(gradient.defined());

  LocalCluster one({"trainer"}, net_functions());
  check_same_bits(gradients_with_net_on(one.node("trainer"), "trainer"), plain);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      LocalCluster cluster({"trainer", "ps"}, net_functions(), random_delays(seed, 1000us));
      check_same_bits(gradients_with_net_on(cluster.node("trainer"), "ps"), plain);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
