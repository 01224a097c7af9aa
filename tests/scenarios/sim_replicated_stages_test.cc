// Pipelines whose stages are replicas, in worlds with bad links and deaths.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/data_parallel.h"
#include "actors/dist_autograd.h"
#include "actors/pipeline.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_replicated_stages)

namespace {

using namespace std::chrono_literals;

/// Two pipelines, a0 -> a1 and b0 -> b1; a0 and b0 are replicas of one stage, a1 and b1 of the other. a0 and b0 drive.
const std::vector<NodeName> kNames{"a0", "a1", "b0", "b1"};
const std::vector<std::vector<NodeName>> kPipelines{{"a0", "a1"}, {"b0", "b1"}};
constexpr std::int64_t kWidth = 3;

class Layer final : public nn::Module {
 public:
  Layer() {
    Generator generator(4);
    linear_ = add_module("linear", std::make_shared<nn::Linear>(kWidth, kWidth, generator));
    norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(kWidth));
  }
  [[nodiscard]] Variable forward(const Variable& x) { return tanh(norm_->forward(linear_->forward(x))); }

 private:
  std::shared_ptr<nn::Linear> linear_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
};

class ReplicatedLayer final : public nn::Module {
 public:
  ReplicatedLayer() : layer_(add_module("layer", std::make_shared<Layer>())) {}
  ReplicatedLayer(const Scope& scope, const std::vector<NodeName>& members) : ReplicatedLayer() {
    replica_.emplace(scope, gloo_collective(scope, Group(members)), layer_);
  }
  [[nodiscard]] Variable forward(Scope& scope, const Variable& x) { return replica_.value().forward(scope, x); }
  [[nodiscard]] Tensor running_mean() const { return layer_->named_buffers()[0].second.value(); }

 private:
  std::shared_ptr<Layer> layer_;
  std::optional<DataParallel<Layer>> replica_;
};

ReplicatedLayer make_layer(Scope& scope, const std::vector<NodeName>& members) { return {scope, members}; }

constexpr auto replicated_layer = stage_class<ReplicatedLayer>;

Variable error_of_replica(const Variable& result, const Tensor& target) { return mse_loss(result, target); }

FunctionRegistry replica_functions() {
  return {{"ReplicatedLayer", replicated_layer},
          {"make_layer", &make_layer},
          {"ReplicatedLayer::running_mean", &ReplicatedLayer::running_mean},
          {"error_of_replica", &error_of_replica}};
}

using Layers = std::vector<RRef<ReplicatedLayer>>;

/// Three batches of pipeline `which`, `pause` after each. Returns the gradients and the running means. `layers` outlive
/// the program: a driver that fails does not leave its groups.
std::vector<Tensor> train(const Node& node, std::size_t which, Layers& layers, Duration pause) {
  std::vector<PipelineStage> stages;
  for (std::size_t k = 0; k < 2; ++k) {
    layers.push_back(
        node.remote(kPipelines[which][k], &make_layer, std::vector<NodeName>{kPipelines[0][k], kPipelines[1][k]}));
    stages.emplace_back(RemoteModule(layers.back()));
  }
  const Pipeline net(node, stages, {.chunks = 3});
  Generator generator(5 + which);
  std::vector<Tensor> outcome;
  for (int batch = 0; batch < 3; ++batch) {
    const Tensor x = randn({6, kWidth}, generator);
    const Tensor y = randn({6, kWidth}, generator);
    const DistContext ctx(node);
    backward(ctx, net.loss(ctx, x, &error_of_replica, y));
    for (const RRef<Variable>& parameter : net.parameters(node)) outcome.push_back(ctx.grad(parameter));
    detail::WaitPoint never;
    static_cast<void>(never.wait(node.core().clock().now() + pause));
  }
  for (const auto& layer : layers) outcome.push_back(layer.rpc_sync(node, &ReplicatedLayer::running_mean));
  return outcome;
}

/// Both drivers. What they hold ends with it, before their world.
struct Drivers {
  explicit Drivers(sim::World& world, Duration pause = 0s) {
    for (std::size_t i = 0; i < 2; ++i) {
      runs.push_back(world.on(kPipelines[i][0],
                              [i, pause, &held = layers[i]](Node& node) { return train(node, i, held, pause); }));
    }
  }
  std::vector<Layers> layers{2};
  std::vector<Future<std::vector<Tensor>>> runs;
};

void check_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  BOOST_TEST_REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(same_bytes(got[i], expected[i]), "value " << i);
}

/// Returns whether an error names the dead node, or the stage of a dead driver: it ends with its driver.
bool is_due_to(const NodeName& victim, const std::string& error) {
  if (error.find(victim) != std::string::npos) return true;
  return std::ranges::any_of(kPipelines, [&](const std::vector<NodeName>& nodes) {
    return victim == nodes[0] && error.find(nodes[1] + " has left the collective") != std::string::npos;
  });
}

std::vector<Tensor> train_without_faults() {
  sim::World world({.seed = 1}, kNames, replica_functions());
  const Drivers drivers(world);
  const std::vector<Tensor> first = drivers.runs[0].get();
  check_same_bits(drivers.runs[1].get(), first);
  return first;
}

}  // namespace

BOOST_AUTO_TEST_CASE(replicas_have_the_same_bits_over_bad_links_as_over_good_ones) {
  const std::vector<Tensor> expected = train_without_faults();
  FaultsSeen seen;
  for (const std::uint64_t seed : seeds(10)) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, replica_functions());
      const TraceIfFailed show(world);
      {
        const Drivers drivers(world);
        for (const auto& run : drivers.runs) check_same_bits(run.get(), expected);
      }
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
      seen.add(world.counts());
    }
  }
  seen.check_links();
}

BOOST_AUTO_TEST_CASE(replicas_train_on_long_after_the_deadline_of_the_calls_that_made_them) {
  const std::vector<Tensor> expected = train_without_faults();
  sim::World world({.seed = 1}, kNames, replica_functions());
  const TraceIfFailed show(world);
  const Drivers drivers(world, 120s);
  for (const auto& run : drivers.runs) check_same_bits(run.get(), expected);
}

BOOST_AUTO_TEST_CASE(death_of_any_replica_at_any_moment_fails_both_pipelines_with_its_name_and_leaves_nothing) {
  const std::vector<Tensor> expected = train_without_faults();
  int failed = 0;
  for (const std::uint64_t seed : seeds(40)) {
    const NodeName victim = kNames[seed % kNames.size()];
    BOOST_TEST_CONTEXT("seed " << seed << ", death of " << victim) {
      sim::World world({.seed = seed}, kNames, replica_functions());
      const TraceIfFailed show(world);
      {
        const Drivers drivers(world);
        world.kill_after(world.draw(12000), victim, world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
        for (const auto& run : drivers.runs) {
          const auto result = run.get_for(120s);
          BOOST_TEST_REQUIRE(result.has_value());
          if (result->ok()) {
            check_same_bits(result->value(), expected);
          } else {
            ++failed;
            BOOST_TEST(is_due_to(victim, result->error().text()), result->error().text());
            BOOST_TEST((result->error().code != ErrorCode::timeout));
          }
        }
        world.run_for(2s);  // so that the death occurs if it has not yet
      }
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
  BOOST_TEST(failed > 25);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
