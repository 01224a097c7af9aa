#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/pipeline.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/scenarios/sim_seeds.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_pipeline)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"trainer", "w0", "w1", "w2"};
constexpr std::int64_t kWidth = 3;

/// Its random numbers and running statistics depend on the order of micro-batches.
class OrderedStage final : public nn::Module {
 public:
  explicit OrderedStage(std::uint64_t seed) {
    Generator generator(seed);
    linear_ = add_module("linear", std::make_shared<nn::Linear>(kWidth, kWidth, generator));
    norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(kWidth));
    dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(0.25, generator));
  }
  [[nodiscard]] Variable forward(const Variable& x) {
    return dropout_->forward(tanh(norm_->forward(linear_->forward(x))));
  }
  [[nodiscard]] Tensor running_mean() const { return named_buffers()[0].second.value(); }

 private:
  std::shared_ptr<nn::Linear> linear_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
  std::shared_ptr<nn::Dropout> dropout_;
};

/// Returns what the stage gets, and its triple past the next stage.
class StashingStage final : public nn::Module {
 public:
  [[nodiscard]] std::tuple<Variable, Variable> forward(const Variable& x) { return {x * 1.0, x * 3.0}; }
};
class PoppingStage final : public nn::Module {
 public:
  [[nodiscard]] Variable forward(const Variable& x, const Variable& skipped) { return x + skipped; }
};

/// What every micro-batch gets. Copying it fails if the test says so.
struct Shared {
  static inline bool fails = false;  // used by the holder of the world's baton

  Shared() = default;
  Shared(const Shared& /*other*/) {
    if (fails) throw std::bad_alloc();
  }
  Shared(Shared&&) noexcept = default;
  Shared& operator=(const Shared&) = default;
  Shared& operator=(Shared&&) noexcept = default;
  ~Shared() = default;
  std::int64_t number = 0;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number);
  }
};
class SharingStage final : public nn::Module {
 public:
  [[nodiscard]] Variable forward(const Variable& x, const Shared& /*shared*/) { return x * 1.0; }
};

constexpr auto sharing_stage = stage_class<SharingStage>;
constexpr auto ordered_stage = stage_class<OrderedStage, std::uint64_t>;
constexpr auto stashing_stage = stage_class<StashingStage>;
constexpr auto popping_stage = stage_class<PoppingStage>;

/// A pipeline that lives on after the call that made it.
class Driver {
 public:
  explicit Driver(Scope& scope)
      : net_(scope,
             {RemoteModule(scope, "w0", ordered_stage, std::uint64_t{1}),
              RemoteModule(scope, "w1", ordered_stage, std::uint64_t{2})},
             {.chunks = 2}) {}

  /// Returns the code of the error of a batch; nullopt if there is none.
  [[nodiscard]] std::optional<ErrorCode> forward_within(Scope& scope, std::int64_t seconds) const {
    const NoGradGuard no_gradients;
    try {
      static_cast<void>(net_.forward(scope.with({.deadline = std::chrono::seconds(seconds)}), ones({4, kWidth})));
    } catch (const RemoteError& error) {
      return error.error().code;
    }
    return std::nullopt;
  }

 private:
  Pipeline<> net_;
};

Driver make_driver(Scope& scope) { return Driver(scope); }

Variable error_of_batch(const Variable& result, const Tensor& target) { return mse_loss(result, target); }

FunctionRegistry pipeline_functions() {
  return {{"OrderedStage", ordered_stage},
          {"OrderedStage::running_mean", &OrderedStage::running_mean},
          {"StashingStage", stashing_stage},
          {"PoppingStage", popping_stage},
          {"SharingStage", sharing_stage},
          {"make_driver", &make_driver},
          {"Driver::forward_within", &Driver::forward_within},
          {"error_of_batch", &error_of_batch}};
}

enum class Way : std::uint8_t { forward, one_forward_one_backward, recomputed };
constexpr Way kWays[]{Way::forward, Way::one_forward_one_backward, Way::recomputed};

/// Two batches through five stages on three nodes, with a skip. Returns the losses, the gradients and the running
/// means.
std::vector<Tensor> train(const Node& node, Way way) {
  const RemoteModule first(node, "w0", ordered_stage, std::uint64_t{1});
  const RemoteModule middle(node, "w2", ordered_stage, std::uint64_t{2});
  const RemoteModule last(node, "w1", ordered_stage, std::uint64_t{3});
  const std::vector<PipelineStage> stages{first,
                                          {RemoteModule(node, "w1", stashing_stage), {.stash = {"x"}}},
                                          middle,
                                          {RemoteModule(node, "w0", popping_stage), {.pop = {"x"}}},
                                          last};
  const Pipeline net(node, stages,
                     {.chunks = 3, .recompute = way == Way::recomputed ? Recompute::always : Recompute::never});
  Generator generator(5);
  std::vector<Tensor> outcome;
  for (int batch = 0; batch < 2; ++batch) {
    const Variable x(randn({8, kWidth}, generator), RequiresGrad::yes);
    const Tensor y = randn({8, kWidth}, generator);
    const DistContext ctx(node);
    const Variable loss = way == Way::forward ? mse_loss(net.forward(ctx, x), y) : net.loss(ctx, x, &error_of_batch, y);
    backward(ctx, loss);
    outcome.push_back(loss.value());
    outcome.push_back(ctx.grad(x));
    for (const RRef<Variable>& parameter : net.parameters(node)) outcome.push_back(ctx.grad(parameter));
  }
  for (const auto& stage : {first, middle, last}) {
    outcome.push_back(stage.module_rref().rpc_sync(node, &OrderedStage::running_mean));
  }
  return outcome;
}

void check_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  BOOST_TEST_REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(same_bytes(got[i], expected[i]), "value " << i);
}

std::vector<Tensor> train_without_faults(Way way) {
  sim::World world({.seed = 1}, kNames, pipeline_functions());
  return world.on("trainer", [way](Node& node) { return train(node, way); }).get();
}

}  // namespace

BOOST_AUTO_TEST_CASE(micro_batches_enter_in_order_over_bad_links_and_the_bits_are_the_same) {
  std::map<Way, std::vector<Tensor>> expected;
  for (const Way way : kWays) expected[way] = train_without_faults(way);
  check_same_bits(expected[Way::recomputed], expected[Way::one_forward_one_backward]);
  FaultsSeen seen;
  for (const std::uint64_t seed : seeds(30)) {
    const Way way = kWays[seed % 3];
    BOOST_TEST_CONTEXT("seed " << seed) {
      sim::World world(bad_network(seed), kNames, pipeline_functions());
      const TraceIfFailed show(world);
      check_same_bits(world.on("trainer", [way](Node& node) { return train(node, way); }).get(), expected[way]);
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
      seen.add(world.counts());
    }
  }
  seen.check_links();
}

BOOST_AUTO_TEST_CASE(pipeline_goes_on_after_a_failed_batch_long_after_the_deadline_of_the_call_that_made_it) {
  sim::World world({.seed = 1}, kNames, pipeline_functions());
  const TraceIfFailed show(world);
  const RRef<Driver> driver = world.node("trainer").with({.deadline = 1s}).remote("trainer", &make_driver);
  BOOST_TEST(!driver.rpc_sync(world.node("trainer"), &Driver::forward_within, 20).has_value());
  world.run_for(2s);
  // No stage sees a micro-batch of this one.
  BOOST_TEST((driver.rpc_sync(world.node("trainer"), &Driver::forward_within, 0) == ErrorCode::timeout));
  BOOST_TEST(!driver.rpc_sync(world.node("trainer"), &Driver::forward_within, 20).has_value());
}

/// A pipeline whose calls have less time than a silent node's lease, and its batches.
struct Hasty {
  /// Runs a batch on the node's own thread. Returns its size; 0 if it fails.
  Future<std::int64_t> batch_within(Duration time) {
    return world.on("trainer", [this, time](Node& node) -> std::int64_t {
      const NoGradGuard no_gradients;
      try {
        return net.forward(node.with({.deadline = time}), ones({4, kWidth})).size(0);
      } catch (const RemoteError&) {
        return 0;
      }
    });
  }

  sim::World world{{.seed = 1}, kNames, pipeline_functions()};
  const TraceIfFailed show{world};
  Node& trainer = world.node("trainer");
  const Pipeline<> net{trainer.with({.deadline = 1s}),
                       {RemoteModule(trainer, "w0", ordered_stage, std::uint64_t{1}),
                        RemoteModule(trainer, "w1", ordered_stage, std::uint64_t{2})},
                       {.chunks = 2}};
};

BOOST_FIXTURE_TEST_CASE(stage_that_is_cut_off_hears_of_a_failed_batch_when_it_is_reached_again, Hasty) {
  BOOST_TEST(batch_within(5s).get() == 4);
  world.cut("trainer", "w0");
  BOOST_TEST(batch_within(500ms).get() == 0);
  world.run_for(2s);
  world.heal("trainer", "w0");
  BOOST_TEST(batch_within(5s).get() == 4);
}

BOOST_FIXTURE_TEST_CASE(batch_that_starts_before_a_stage_has_heard_of_a_failed_one_succeeds, Hasty) {
  BOOST_TEST(batch_within(5s).get() == 4);
  world.cut("trainer", "w0");
  BOOST_TEST(batch_within(500ms).get() == 0);
  const auto next = batch_within(5s);
  world.run_for(2s);
  world.heal("trainer", "w0");
  BOOST_TEST(next.get() == 4);
}

BOOST_AUTO_TEST_CASE(batch_for_which_there_is_no_memory_takes_no_tickets) {
  sim::World world({.seed = 1}, kNames, pipeline_functions());
  const TraceIfFailed show(world);
  Node& trainer = world.node("trainer");
  const Pipeline<Variable(Variable, Shared)> net(trainer, {RemoteModule(trainer, "w0", sharing_stage)}, {.chunks = 2});
  const NoGradGuard no_gradients;
  const Tensor x = ones({4, kWidth});
  Shared::fails = true;
  BOOST_CHECK_THROW(static_cast<void>(net.forward_remote(trainer, x, Shared())), std::bad_alloc);
  BOOST_CHECK_THROW(static_cast<void>(net.forward(trainer, x, Shared())), std::bad_alloc);
  Shared::fails = false;
  BOOST_TEST(same_bytes(net.forward(trainer, x, Shared()).value(), x));
}

BOOST_AUTO_TEST_CASE(what_waits_in_a_stage_fails_when_its_pipeline_ends) {
  using detail::PipelineCore;
  sim::World world({.seed = 1}, kNames, pipeline_functions());
  const TraceIfFailed show(world);
  Node& trainer = world.node("trainer");
  const std::vector<PipelineStage> stages{RemoteModule(trainer, "w0", ordered_stage, std::uint64_t{1})};
  const std::vector<std::string> schema{schema_of<Variable>()};
  std::vector<detail::AnyRRef> results;
  {
    const auto core = std::make_shared<const PipelineCore>(trainer, stages, PipelineOptions{}, schema, schema);
    const PipelineCore::Round never_comes(core, 1, false);
    const PipelineCore::Round waits(core, 1, false);
    results = waits.start([&](std::size_t /*micro_batch*/) -> const Scope& { return trainer; },
                          {RRef<Variable>(trainer, Variable(ones({2, kWidth})))});
    world.run_for(1s);
  }
  const auto outcome = results.at(0).as<Variable>().to_here_async(trainer).get_for(5s);
  BOOST_TEST_REQUIRE(outcome.has_value());
  BOOST_TEST_REQUIRE(!outcome->ok());
  BOOST_TEST(outcome->error().text().find("the pipeline has ended") != std::string::npos, outcome->error().text());
}

BOOST_AUTO_TEST_CASE(death_of_any_node_at_any_moment_is_one_error_that_names_it_and_leaves_nothing) {
  std::map<Way, std::vector<Tensor>> expected;
  for (const Way way : kWays) expected[way] = train_without_faults(way);
  int failed = 0;
  for (const std::uint64_t seed : seeds(90)) {
    const Way way = kWays[seed % 3];
    const NodeName victim = kNames[(seed / 3) % kNames.size()];
    BOOST_TEST_CONTEXT("seed " << seed << ", death of " << victim) {
      sim::World world({.seed = seed}, kNames, pipeline_functions());
      const TraceIfFailed show(world);
      const auto run = world.on("trainer", [way](Node& node) { return train(node, way); });
      world.kill_after(world.draw(6000), victim, world.draw(2) == 0 ? sim::Death::closed : sim::Death::silent);
      const auto result = run.get_for(120s);
      BOOST_TEST_REQUIRE(result.has_value());
      if (result->ok()) {
        check_same_bits(result->value(), expected.at(way));
      } else {
        ++failed;
        BOOST_TEST(result->error().text().find(victim) != std::string::npos, result->error().text());
        BOOST_TEST((result->error().code != ErrorCode::timeout));
      }
      world.run_for(2s);  // so that the death occurs if it has not yet
      BOOST_TEST(world.step_until([&] { return nothing_left(world, kNames); }));
    }
  }
  BOOST_TEST(failed > 20);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
