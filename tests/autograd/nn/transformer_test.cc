#include "autograd/nn/transformer.h"

#include <set>
#include <string>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_transformer)

BOOST_AUTO_TEST_CASE(an_encoder_has_layers_of_its_own_and_a_last_norm_if_wanted) {
  Generator generator(1);
  const nn::TransformerEncoder encoder(8, 2, 2, generator, {.feedforward = 16}, nn::FinalNorm::yes);
  std::set<std::string> names;
  for (const auto& [name, parameter] : encoder.named_parameters()) names.insert(name);
  BOOST_CHECK(names.contains("layers.0.self_attn.in_proj_weight"));
  BOOST_CHECK(names.contains("layers.1.linear1.bias"));
  BOOST_CHECK(names.contains("layers.1.norm2.weight"));
  BOOST_CHECK(names.contains("norm.weight"));
  BOOST_CHECK_EQUAL(names.size(), 2U * 12U + 2U);
  const auto parameters = encoder.named_parameters();
  BOOST_CHECK(!same_bytes(parameters[0].second.value(), parameters[12].second.value()));
  expect_throw<ValueError>([&] { nn::TransformerEncoder(8, 2, 0, generator); },
                           "[TransformerEncoder] layers below 1: 0");
}

BOOST_AUTO_TEST_CASE(a_causal_encoder_does_not_see_what_comes_later) {
  Generator generator(2);
  nn::TransformerEncoder encoder(8, 2, 2, generator, {.feedforward = 16, .batch_first = true});
  encoder.eval();
  const Tensor x = randn({1, 5, 8}, generator);
  Tensor other = x.clone();
  other.select(1, 4).fill(3.0);
  const auto first_four = [&](const Tensor& given, bool causal) {
    return encoder.forward(given, {.causal = causal}).value().slice(1, 0, 4).clone();
  };
  BOOST_CHECK(same_bytes(first_four(x, true), first_four(other, true)));
  BOOST_CHECK(!same_bytes(first_four(x, false), first_four(other, false)));
}

BOOST_AUTO_TEST_CASE(dropout_is_part_of_training) {
  Generator generator(3);
  nn::TransformerEncoderLayer layer(8, 2, generator, {.feedforward = 16});
  const Variable x = randn({5, 2, 8}, generator);
  BOOST_CHECK(!same_bytes(layer.forward(x).value(), layer.forward(x).value()));
  layer.eval();
  BOOST_CHECK(same_bytes(layer.forward(x).value(), layer.forward(x).value()));
}

BOOST_AUTO_TEST_SUITE_END()
