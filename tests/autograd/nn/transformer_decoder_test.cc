#include "autograd/nn/transformer_decoder.h"

#include <set>
#include <string>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_transformer_decoder)

namespace {

/// Returns the first four steps of the decoder's result for x (1, 5, 8) and its memory.
Tensor first_four(nn::TransformerDecoder& decoder, const Tensor& x, const Tensor& memory, bool causal) {
  return decoder.forward(x, memory, {.causal = causal}).value().slice(1, 0, 4).clone();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_decoder_has_layers_of_its_own_and_a_last_norm_if_wanted) {
  Generator generator(1);
  const nn::TransformerDecoder decoder(8, 2, 2, generator, {.feedforward = 16}, nn::FinalNorm::yes);
  std::set<std::string> names;
  for (const auto& [name, parameter] : decoder.named_parameters()) names.insert(name);
  BOOST_CHECK(names.contains("layers.0.self_attn.in_proj_weight"));
  BOOST_CHECK(names.contains("layers.0.multihead_attn.out_proj.bias"));
  BOOST_CHECK(names.contains("layers.1.norm3.weight"));
  BOOST_CHECK(names.contains("norm.weight"));
  BOOST_CHECK_EQUAL(names.size(), 2U * 18U + 2U);
  const auto parameters = decoder.named_parameters();
  BOOST_CHECK(!same_bytes(parameters[0].second.value(), parameters[18].second.value()));
  expect_throw<ValueError>([&] { nn::TransformerDecoder(8, 2, 0, generator); },
                           "[TransformerDecoder] layers below 1: 0");
}

BOOST_AUTO_TEST_CASE(a_causal_decoder_does_not_see_what_comes_later_but_all_of_its_memory) {
  Generator generator(2);
  nn::TransformerDecoder decoder(8, 2, 2, generator, {.feedforward = 16, .batch_first = true});
  decoder.eval();
  const Tensor x = randn({1, 5, 8}, generator);
  const Tensor memory = randn({1, 7, 8}, generator);
  Tensor later = x.clone();
  later.select(1, 4).fill(3.0);
  BOOST_CHECK(same_bytes(first_four(decoder, x, memory, true), first_four(decoder, later, memory, true)));
  BOOST_CHECK(!same_bytes(first_four(decoder, x, memory, false), first_four(decoder, later, memory, false)));
  Tensor end = memory.clone();
  end.select(1, 6).fill(3.0);
  BOOST_CHECK(!same_bytes(first_four(decoder, x, memory, true), first_four(decoder, x, end, true)));
  const nn::AttentionMasks hidden{.padding = eq(arange(7), 6.0).unsqueeze(0)};
  BOOST_CHECK(same_bytes(decoder.forward(x, memory, {}, hidden).value(), decoder.forward(x, end, {}, hidden).value()));
}

BOOST_AUTO_TEST_CASE(a_loss_has_gradients_of_every_parameter_of_encoder_memory_and_decoder) {
  Generator generator(3);
  nn::TransformerDecoderLayer layer(8, 2, generator, {.feedforward = 16});
  const Variable x(randn({5, 2, 8}, generator), RequiresGrad::yes);
  const Variable memory(randn({4, 2, 8}, generator), RequiresGrad::yes);
  const Gradients found =
      backward(sum(layer.forward(x, memory, {.causal = true}) * Variable(randn({5, 2, 8}, generator))));
  for (const auto& [name, parameter] : layer.named_parameters()) {
    BOOST_TEST_CONTEXT(name) BOOST_CHECK(norm(found.of(parameter)).item() > 0.0);
  }
  BOOST_CHECK(norm(found.of(x)).item() > 0.0);
  BOOST_CHECK(norm(found.of(memory)).item() > 0.0);
}

BOOST_AUTO_TEST_CASE(dropout_is_part_of_training) {
  Generator generator(3);
  nn::TransformerDecoderLayer layer(8, 2, generator, {.feedforward = 16});
  const Variable x = randn({5, 2, 8}, generator);
  BOOST_CHECK(!same_bytes(layer.forward(x, x).value(), layer.forward(x, x).value()));
  layer.eval();
  BOOST_CHECK(same_bytes(layer.forward(x, x).value(), layer.forward(x, x).value()));
}

BOOST_AUTO_TEST_SUITE_END()
