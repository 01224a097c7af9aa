// Modules on another node: their results travel, and so do the gradients through them.
#include <boost/test/unit_test.hpp>

#include "actors/dist_autograd.h"
#include "autograd/engine.h"
#include "autograd/nn/attention.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/rnn.h"
#include "autograd/nn/transformer.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"

namespace troupe::testing {
namespace {

nn::Lstm make_lstm() {
  Generator generator(1);
  return nn::Lstm(3, 4, generator, {.layers = 2});
}
nn::TransformerEncoderLayer make_encoder() {
  Generator generator(2);
  return nn::TransformerEncoderLayer(4, 2, generator, {.feedforward = 8, .dropout = 0.0});
}
nn::MultiheadAttention make_attention() {
  Generator generator(3);
  return nn::MultiheadAttention(4, 2, generator);
}
nn::BatchNorm1d make_norm() { return nn::BatchNorm1d(3); }

Tensor running_mean(Scope& scope, const RRef<nn::BatchNorm1d>& layer) {
  return layer.local_value(scope)->named_buffers()[0].second.value();
}

FunctionRegistry functions() {
  return {{"make_lstm", &make_lstm},           {"lstm", &nn::Lstm::forward},
          {"make_encoder", &make_encoder},     {"encoder", &nn::TransformerEncoderLayer::forward},
          {"make_attention", &make_attention}, {"attention", &nn::MultiheadAttention::forward},
          {"make_norm", &make_norm},           {"norm", &nn::BatchNorm1d::forward},
          {"running_mean", &running_mean}};
}

Tensor random(const Shape& shape) {
  Generator generator(7);
  return uniform(shape, -1.0, 1.0, generator);
}

struct Nodes {
  LocalCluster cluster{{"trainer", "ps"}, functions()};
  Node& trainer = cluster.node("trainer");
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(modules, Nodes)

BOOST_AUTO_TEST_CASE(a_recurrent_model_on_another_node_gives_what_it_gives_here) {
  nn::Lstm local = make_lstm();
  const Variable x(random({5, 2, 3}), RequiresGrad::yes);
  const RRef<nn::Lstm> remote = trainer.remote("ps", &make_lstm);
  DistContext ctx(trainer);
  const RnnOutputs there = remote.rpc_sync(ctx, &nn::Lstm::forward, x, Variable(), Variable());
  const RnnOutputs here = local.forward(x);
  BOOST_TEST(same_bytes(there.output.value(), here.output.value()));
  BOOST_TEST(same_bytes(there.cell.value(), here.cell.value()));
  backward(ctx, sum(there.output) + sum(there.cell));
  BOOST_TEST(allclose(ctx.grad(x), backward(sum(here.output) + sum(here.cell)).of(x), 1e-6, 1e-7));
}

BOOST_AUTO_TEST_CASE(masks_travel_to_attention_and_weights_back) {
  nn::MultiheadAttention local = make_attention();
  const Tensor x = random({3, 2, 4});
  const nn::AttentionMasks masks{.padding = zeros({2, 3}, DType::boolean), .causal = true};
  const RRef<nn::MultiheadAttention> remote = trainer.remote("ps", &make_attention);
  const auto there = remote.rpc_sync(trainer, &nn::MultiheadAttention::forward, Variable(x), Variable(x), Variable(x),
                                     masks, nn::AttentionWeights::averaged);
  const auto here = local.forward(x, x, x, masks, nn::AttentionWeights::averaged);
  BOOST_TEST(same_bytes(there.output.value(), here.output.value()));
  BOOST_TEST(same_bytes(there.weights.value(), here.weights.value()));

  nn::TransformerEncoderLayer layer = make_encoder();
  const RRef<nn::TransformerEncoderLayer> remote_layer = trainer.remote("ps", &make_encoder);
  const Variable y = remote_layer.rpc_sync(trainer, &nn::TransformerEncoderLayer::forward, Variable(x), masks);
  BOOST_TEST(same_bytes(y.value(), layer.forward(x, masks).value()));
}

BOOST_AUTO_TEST_CASE(running_statistics_stay_with_their_module) {
  const RRef<nn::BatchNorm1d> remote = trainer.remote("ps", &make_norm);
  const Tensor x = random({6, 3});
  (void)remote.rpc_sync(trainer, &nn::BatchNorm1d::forward, Variable(x));
  BOOST_TEST(allclose(trainer.rpc_sync("ps", &running_mean, remote), mean(x, 0) * 0.1, 1e-5, 1e-7));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
