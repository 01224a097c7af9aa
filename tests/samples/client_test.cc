#include "samples/federated/client.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <numeric>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops/loss.h"
#include "samples/parameter_server/glyphs.h"
#include "tensor/create.h"
#include "tensor/ops.h"

BOOST_AUTO_TEST_SUITE(client)

namespace {

using samples::Client;
using samples::DigitMlp;
using troupe::same_bytes;
using troupe::Tensor;

constexpr std::int64_t kWidth = 8;

}  // namespace

BOOST_AUTO_TEST_CASE(a_gradient_is_the_mean_over_all_digits_of_the_client) {
  DigitMlp net(kWidth, 1);
  Client client(3, kWidth, 40);  // a batch of 32 and one of 8
  const samples::Update update = client.gradient(net.weights());

  std::vector<std::int64_t> rows(40);
  std::iota(rows.begin(), rows.end(), 0);
  const samples::Batch all = samples::batch(samples::draw_glyphs(40, 103), rows);
  const troupe::Gradients expected = backward(cross_entropy(net.forward(all.images), all.labels));
  BOOST_REQUIRE(update.tensors.size() == net.parameters().size());
  for (std::size_t i = 0; const troupe::Variable& parameter : net.parameters()) {
    const Tensor gradient = expected.of(parameter);
    BOOST_TEST(max(abs(gradient)).item() > 0);
    // Sums of 40 numbers in another order.
    BOOST_TEST(max(abs(update.tensors[i++] - gradient)).item() < 1e-6 * max(abs(gradient)).item() + 1e-7);
  }
}

BOOST_AUTO_TEST_CASE(a_client_keeps_nothing_of_earlier_rounds) {
  Client client(0, kWidth, 40);
  const std::vector<Tensor> weights = DigitMlp(kWidth, 1).weights();
  const samples::Update first = client.train(weights);
  static_cast<void>(client.train(DigitMlp(kWidth, 2).weights()));
  const samples::Update again = client.train(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    BOOST_TEST(same_bytes(first.tensors.at(i), again.tensors.at(i)));
    BOOST_TEST(!same_bytes(first.tensors.at(i), weights[i]));
  }
}

BOOST_AUTO_TEST_CASE(clients_of_other_numbers_have_other_digits) {
  const std::vector<Tensor> weights = DigitMlp(kWidth, 1).weights();
  BOOST_TEST(!same_bytes(Client(0, kWidth, 40).gradient(weights).tensors.front(),
                         Client(1, kWidth, 40).gradient(weights).tensors.front()));
}

BOOST_AUTO_TEST_SUITE_END()
