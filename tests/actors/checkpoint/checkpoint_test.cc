// Checkpoints of a training over several nodes in this process.
#include "actors/checkpoint/checkpoint.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/shards/optimizer_driver.h"
#include "actors/shards/shards.h"
#include "actors/shards/shared_shard.h"
#include "autograd/engine.h"
#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/norm.h"
#include "autograd/nn/state_dict.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "optim/local_optimizer.h"
#include "optim/lr_scheduler.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_throw.h"
#include "tests/support/gpu.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using detail::StateSnapshot;

/// Parameters, buffers and a generator.
class SavedNet final : public nn::Module {
 public:
  SavedNet(std::int64_t width, std::int64_t seed) {
    Generator generator(static_cast<std::uint64_t>(seed));
    in_ = add_module("in", std::make_shared<nn::Linear>(3, width, generator));
    norm_ = add_module("norm", std::make_shared<nn::BatchNorm1d>(width));
    dropout_ = add_module("dropout", std::make_shared<nn::Dropout>(0.5, generator));
  }
  [[nodiscard]] Variable forward(const Variable& x) { return dropout_->forward(norm_->forward(in_->forward(x))); }

 private:
  std::shared_ptr<nn::Linear> in_;
  std::shared_ptr<nn::BatchNorm1d> norm_;
  std::shared_ptr<nn::Dropout> dropout_;
};

constexpr auto saved_net = module_class<SavedNet, std::int64_t, std::int64_t>;

Variable make_parameter(std::int64_t size, double value) { return {full({size}, value), RequiresGrad::yes}; }

FunctionRegistry functions() { return {{"SavedNet", saved_net}, {"make_parameter", &make_parameter}}; }

const Tensor kInput = from_values<float>({1, 2, 3, -1, 0, 1, 4, 4, 2, 0, 1, 0}, {4, 3});

/// An object of a program whose saved state does not fit.
struct Refusing {
  [[nodiscard]] static NamedTensors state_dict() { return {{"x", full({}, 1.0)}}; }
  static void load_state_dict(const NamedTensors& /*state*/) { throw ValueError("[refusing] x does not fit"); }
};

/// An object of a program. While it is loaded, something happens.
struct Interrupted {
  [[nodiscard]] static NamedTensors state_dict() { return {{"x", full({}, 1.0)}}; }
  void load_state_dict(const NamedTensors& /*state*/) const { meanwhile(); }
  std::function<void()> meanwhile;
};

struct Nodes {
  TemporaryDirectory directory;
  std::filesystem::path run = directory.path() / "run";
  LocalCluster cluster{{"trainer", "ps0", "ps1"}, functions()};
  Node& trainer = cluster.node("trainer");
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(checkpoint_of_nodes, Nodes)

BOOST_AUTO_TEST_CASE(modules_on_other_nodes_continue_from_their_values_buffers_and_generators) {
  const RemoteModule net(trainer, "ps0", saved_net, 4, 1);
  const RemoteModule other(trainer, "ps1", saved_net, 5, 2);
  static_cast<void>(net.forward(trainer, kInput));  // draws, and changes the running statistics
  Checkpoint saved;
  saved.add("net", net).add("other", other.module_rref());
  saved.save(trainer, run);
  std::vector<Tensor> next;
  for (int i = 0; i < 3; ++i) next.push_back(net.forward(trainer, kInput).value());
  const Tensor of_other = other.forward(trainer, kInput).value();

  // Restored onto other nodes, and over other values.
  const RemoteModule restored(trainer, "trainer", saved_net, 4, 77);
  static_cast<void>(restored.forward(trainer, kInput));
  const RemoteModule restored_other(trainer, "ps0", saved_net, 5, 78);
  Checkpoint list;
  list.add("other", restored_other).add("net", restored);
  list.restore(trainer, run);
  for (const Tensor& expected : next) BOOST_TEST(same_bytes(restored.forward(trainer, kInput).value(), expected));
  BOOST_TEST(same_bytes(restored_other.forward(trainer, kInput).value(), of_other));
}

BOOST_AUTO_TEST_CASE(objects_of_this_node_are_saved_with_the_modules) {
  SavedNet net(4, 1);
  optim::LocalOptimizer optimizer(net.parameters(), optim::AdamOptions{.lr = 0.1});
  optim::LrScheduler schedule(optimizer, optim::StepLr({.step_size = 2, .gamma = 0.5}));
  Generator generator(5);
  std::int64_t step = 0;
  Checkpoint list;
  list.add("net", net).add("optimizer", optimizer).add("schedule", schedule).add("random", generator).add("step", step);
  const auto train = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      const Tensor x = uniform({4, 3}, -1.0, 1.0, generator);
      optimizer.step(backward(sum(square(net.forward(x)))));
      schedule.step();
      ++step;
    }
  };
  train(3);
  list.save(trainer, run);
  train(4);
  const NamedTensors expected = nn::state_dict(net);
  const Generator expected_generator = generator;
  list.restore(trainer, run);
  BOOST_TEST(step == 3);
  train(4);
  BOOST_CHECK(generator == expected_generator);
  const NamedTensors state = nn::state_dict(net);
  for (std::size_t i = 0; i < state.size(); ++i)
    BOOST_TEST(same_bytes(state[i].second, expected[i].second), state[i].first);
}

BOOST_AUTO_TEST_CASE(variables_are_restored_by_name_on_other_owners) {
  const auto on = [&](const NodeName& node, double value) { return trainer.remote(node, &make_parameter, 3, value); };
  Checkpoint saved;
  saved.add("weights", {{"a", on("ps0", 1)}, {"b", on("ps1", 2)}, {"c", on("ps0", 3)}});
  saved.save(trainer, run);
  const auto a = on("ps1", 0);
  const auto b = on("trainer", 0);
  const auto c = on("ps1", 0);
  Checkpoint list;
  list.add("weights", {{"c", c}, {"b", b}, {"a", a}});
  list.restore(trainer, run);
  BOOST_TEST(same_bytes(a.to_here(trainer).value(), full({3}, 1.0)));
  BOOST_TEST(same_bytes(b.to_here(trainer).value(), full({3}, 2.0)));
  BOOST_TEST(same_bytes(c.to_here(trainer).value(), full({3}, 3.0)));
}

BOOST_AUTO_TEST_CASE(tensors_travel_in_chunks_whose_size_does_not_divide_theirs) {
  const std::int64_t size = 100'003;  // 400,012 bytes
  const auto saved = trainer.remote("ps0", &make_parameter, size, 1.25);
  const CheckpointOptions options{.chunk_bytes = 4096};
  Checkpoint(options).add("w", {{"w", saved}}).save(trainer, run);
  const auto restored = trainer.remote("ps1", &make_parameter, size, 0.0);
  Checkpoint(options).add("w", {{"w", restored}}).restore(trainer, run);
  BOOST_TEST(same_bytes(restored.to_here(trainer).value(), full({size}, 1.25)));
  const auto counted = trainer.remote("ps1", &make_parameter, 1, 0.0);
  Checkpoint(CheckpointOptions{.chunk_bytes = 0}).add("w", {{"w", counted}}).save(trainer, run);
}

BOOST_AUTO_TEST_CASE(chunks_that_a_device_map_brings_to_a_gpu_are_written_as_others,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  trainer.set_device_map("ps0", {{Device::cuda(), Device::cpu()}});
  const auto saved = trainer.remote("ps0", &make_parameter, 3, 1.25);
  Checkpoint().add("w", {{"w", saved}}).save(trainer, run);
  const auto restored = trainer.remote("ps1", &make_parameter, 3, 0.0);
  Checkpoint().add("w", {{"w", restored}}).restore(trainer, run);
  BOOST_TEST(same_bytes(restored.to_here(trainer).value(), full({3}, 1.25)));
}

BOOST_AUTO_TEST_CASE(snapshot_of_states_is_current_until_a_step) {
  const auto w = trainer.remote("ps0", &make_parameter, 2, 1.0);
  const auto v = trainer.remote("ps1", &make_parameter, 3, 1.0);
  DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.5, .momentum = 0.5}, {w, v});
  optimizer.set_lr(0, 0.25);
  const OptimizerId id = detail::driver_of(optimizer)->id();
  const auto step = [&] {
    const DistContext context(trainer);
    backward(context, sum(w.to_here(context)) + sum(v.to_here(context)));
    optimizer.step(context);
  };
  step();
  const auto snapshot = trainer.remote("ps0", &detail::snapshot_of_states, id, std::vector<double>{0.25});
  std::map<std::string, TensorPlan> plans;
  for (const TensorPlan& plan : snapshot.rpc_sync(trainer, &StateSnapshot::plans)) plans.emplace(plan.name, plan);
  BOOST_TEST(plans.contains("groups.0.sgd.lr"));
  BOOST_TEST((plans.at("groups.0.parameters.0.momentum_buffer").shape == Shape{2}));
  BOOST_TEST(!plans.contains("groups.0.parameters.1.momentum_buffer"));
  BOOST_TEST(snapshot.rpc_sync(trainer, &StateSnapshot::is_current));
  {
    const Scope here = cluster.node("ps0");
    const auto shard = here.state().node->shards().shared_by(id);
    const detail::ShardParameters::Open undecided = shard->parameters.open_step();
    BOOST_TEST(!snapshot.rpc_sync(trainer, &StateSnapshot::is_current));
    const Scope hurried = trainer.with({.deadline = 100ms});
    const auto none = hurried.remote("ps0", &detail::snapshot_of_states, id, std::vector<double>{});
    BOOST_CHECK_THROW(none.created(hurried).get(), RemoteError);
  }
  BOOST_TEST(snapshot.rpc_sync(trainer, &StateSnapshot::is_current));
  step();
  BOOST_TEST(!snapshot.rpc_sync(trainer, &StateSnapshot::is_current));

  const auto states = trainer.remote("ps1", &detail::snapshot_of_states, id, std::vector<double>{});
  const std::vector<TensorPlan> second = states.rpc_sync(trainer, &StateSnapshot::plans);
  BOOST_TEST(std::ranges::all_of(
      second, [](const TensorPlan& one) { return one.name.find("parameters.1.") != std::string::npos; }));
  Node& other = cluster.node("ps1");
  const auto foreign = other.remote("ps0", &detail::snapshot_of_states, id, std::vector<double>{});
  const Error refused = error_of([&] { return foreign.created(other).get(), 0; });
  BOOST_TEST(refused.text().find("optimizer " + id.text() + " is not of ps1") != std::string::npos, refused.text());
}

BOOST_AUTO_TEST_CASE(optimizer_goes_on_with_its_saved_states_and_rate_on_other_owners) {
  struct Training {
    Training(Node& node, const NodeName& one, const NodeName& two)
        : w(node.remote(one, &make_parameter, 2, 1.0)),
          v(node.remote(two, &make_parameter, 3, 1.0)),
          optimizer(node, optim::AdamOptions{.lr = 0.5}, {w, v}) {}
    void step(Node& node) const {
      const DistContext context(node);
      backward(context, sum(square(w.to_here(context))) + sum(square(v.to_here(context))));
      optimizer.step(context);
    }
    RRef<Variable> w, v;
    DistOptimizer optimizer;
  };
  Training saved(trainer, "ps0", "ps1");
  saved.step(trainer);
  saved.optimizer.set_lr(0, 0.125);
  const auto list = [](const Training& of) {
    return Checkpoint().add("values", {{"w", of.w}, {"v", of.v}}).add("optimizer", of.optimizer);
  };
  list(saved).save(trainer, run);
  saved.step(trainer);

  Training restored(trainer, "ps1", "trainer");
  list(restored).restore(trainer, run);
  BOOST_TEST(restored.optimizer.lr(0) == 0.125);
  restored.step(trainer);
  BOOST_TEST(same_bytes(restored.w.to_here(trainer).value(), saved.w.to_here(trainer).value()));
  BOOST_TEST(same_bytes(restored.v.to_here(trainer).value(), saved.v.to_here(trainer).value()));

  // The owner of a part of the state dies: the checkpoint before stays.
  cluster.kill("ps0");
  BOOST_TEST(error_of([&] { return list(saved).save(trainer, run), 0; }).peer == "ps0");
  list(restored).restore(trainer, run);
  restored.step(trainer);
  BOOST_TEST(restored.optimizer.lr(0) == 0.125);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_listed_and_nothing_changes) {
  const RemoteModule net(trainer, "ps0", saved_net, 4, 1);
  const auto w = trainer.remote("ps1", &make_parameter, 2, 1.0);
  Checkpoint saved;
  saved.add("net", net).add("w", {{"a", w}});
  saved.save(trainer, run);

  const auto other = trainer.remote("ps1", &make_parameter, 2, 5.0);
  expect_throw<ValueError>(
      [&] {
        Checkpoint list;
        list.add("weights", {{"a", other}}).restore(trainer, run);
      },
      "[checkpoint] " + run.string() + "; missing: weights; unexpected: net; unexpected: w");
  expect_throw<ValueError>(
      [&] {
        Checkpoint list;
        list.add("net", net).add("w", {{"b", other}}).restore(trainer, run);
      },
      "[checkpoint] missing: b; unexpected or given twice: a");

  const RemoteModule wide(trainer, "ps0", saved_net, 5, 1);
  Checkpoint list;
  list.add("w", {{"a", other}}).add("net", wide);
  const Error error = error_of([&] { return list.restore(trainer, run), 0; });
  BOOST_TEST(error.peer == "ps0");
  BOOST_TEST(
      error.message ==
      "[checkpoint] in.weight is f32 (4, 3), not f32 (5, 3); in.bias is f32 (4), not f32 (5); "
      "norm.weight is f32 (4), not f32 (5); norm.bias is f32 (4), not f32 (5); norm.running_mean is f32 (4), not "
      "f32 (5); norm.running_var is f32 (4), not f32 (5)");
  BOOST_TEST(same_bytes(other.to_here(trainer).value(), full({2}, 5.0)));
}

BOOST_AUTO_TEST_CASE(optimizer_keeps_states_and_rates_if_another_part_does_not_fit) {
  const auto a = trainer.remote("ps0", &make_parameter, 2, 1.0);
  const auto b = trainer.remote("ps1", &make_parameter, 2, 1.0);
  DistOptimizer first(trainer, optim::AdamOptions{.lr = 0.1}, {a});
  const DistOptimizer second(trainer, optim::AdamOptions{.lr = 0.1}, {b});
  std::int64_t step = 7;
  Refusing refusing;
  Checkpoint list;
  list.add("first", first).add("second", second).add("step", step).add("refusing", refusing);
  list.save(trainer, run);

  step = 99;
  first.set_lr(0, 0.5);
  DistContext context(trainer);
  backward(context, sum(a.to_here(context)));
  first.step(context);
  const NamedTensors before = first.state_dict(trainer);
  const auto first_is_as_before = [&] {
    const NamedTensors after = first.state_dict(trainer);
    return first.lr(0) == 0.5 && std::ranges::equal(before, after, [](const auto& one, const auto& other) {
             return one.first == other.first && same_bytes(one.second, other.second);
           });
  };
  expect_throw<ValueError>([&] { list.restore(trainer, run); }, "[refusing] x does not fit");
  BOOST_TEST(first_is_as_before());

  step = 99;
  const DistOptimizer other_rule(trainer, optim::AdamOptions{.lr = 0.1, .eps = 1e-3}, {b});
  Checkpoint unlike;
  unlike.add("step", step).add("first", first).add("second", other_rule).add("refusing", refusing);
  BOOST_TEST((error_of([&] { return unlike.restore(trainer, run), 0; }).code == ErrorCode::step_not_applied));
  BOOST_TEST(first_is_as_before());
  BOOST_TEST(step == 99);
}

BOOST_AUTO_TEST_CASE(deadline_that_passes_before_the_last_step_leaves_no_mixture) {
  const auto w = trainer.remote("ps0", &make_parameter, 2, 1.0);
  DistOptimizer optimizer(trainer, optim::AdamOptions{.lr = 0.1}, {w});
  Interrupted interrupted;
  Checkpoint list;
  list.add("net", {{"w", w}}).add("optimizer", optimizer).add("interrupted", interrupted);
  list.save(trainer, run);
  DistContext context(trainer);
  backward(context, sum(w.to_here(context)));
  optimizer.step(context);
  auto served = std::make_shared<detail::ScopeState>(trainer.state());  // as of a function that is served
  served->due = trainer.core().clock().now() + 1h;
  interrupted.meanwhile = [&] { served->due = trainer.core().clock().now() - 1ms; };
  list.restore(Scope(served), run);
  BOOST_TEST(same_bytes(w.to_here(trainer).value(), full({2}, 1.0)));
}

BOOST_AUTO_TEST_CASE(copies_of_variables_follow_steps_restores_and_pushed_rows) {
  const RemoteModule net(trainer, "ps0", saved_net, 4, 1);
  const std::vector<RRef<Variable>> stepped = net.remote_parameters(trainer);
  const RRef<Variable> copied = net.remote_parameters(trainer).front();  // another reference to the same variable
  const auto is_current = [&](const RRef<Variable>& variable) {
    return same_bytes(variable.cached(trainer)->value(), variable.to_here(trainer).value());
  };
  BOOST_TEST(is_current(copied));
  Checkpoint list;
  list.add("net", net);
  list.save(trainer, run);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, stepped);
  DistContext context(trainer);
  backward(context, sum(net.forward(context, kInput)));
  optimizer.step(context);
  BOOST_TEST(is_current(copied));
  list.restore(trainer, run);
  BOOST_TEST(is_current(copied));

  const ShardedEmbedding table(trainer, {"ps1"}, {.rows = 2, .width = 2, .seed = 1});
  const RRef<Variable> rows = table.parameters(trainer).front();
  BOOST_TEST(is_current(rows));
  table.push_rows(trainer, from_values<std::int64_t>({0}, {1}), zeros({1, 2}));
  BOOST_TEST(is_current(rows));
}

BOOST_AUTO_TEST_CASE(copies_follow_the_restored_module_of_the_node_that_restores) {
  const Node& owner = cluster.node("ps0");
  SavedNet net(4, 1);
  const Variable weight = net.parameters().front();
  static_cast<void>(owner.publish("weight", weight));
  const auto copied = trainer.find<Variable>("ps0", "weight");
  Checkpoint list;
  list.add("net", net);
  list.save(owner, run);
  const Tensor saved = weight.value();
  weight.set_value(zeros(weight.shape()));
  BOOST_TEST(same_bytes(copied.cached(trainer)->value(), zeros(weight.shape())));
  list.restore(owner, run);
  BOOST_TEST(same_bytes(copied.to_here(trainer).value(), saved));
  const auto is_current = [&] { return same_bytes(copied.cached(trainer)->value(), saved); };
  const auto due = std::chrono::steady_clock::now() + 5s;  // the owner's notification is on its way
  while (!is_current() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(is_current());
}

BOOST_AUTO_TEST_CASE(part_needs_a_name_of_its_own) {
  std::int64_t count = 0;
  Checkpoint list;
  list.add("step", count);
  expect_throw<std::invalid_argument>([&] { list.add("step", count); }, "[checkpoint] part given twice: step");
  expect_throw<std::invalid_argument>([&] { list.add("", count); }, "[checkpoint] a part without a name");
  const auto w = trainer.remote("ps1", &make_parameter, 2, 1.0);
  expect_throw<std::invalid_argument>([&] { list.add("w", {{"a", w}, {"a", w}}); }, "[checkpoint] name given twice: a");
  expect_throw<std::invalid_argument>([&] { list.add("w", detail::NamedReferences{}); }, "[checkpoint] no variables");
}

BOOST_AUTO_TEST_CASE(owner_that_dies_fails_the_save_with_its_name_and_the_checkpoint_before_stays) {
  const auto w = trainer.remote("ps0", &make_parameter, 2, 1.0);
  Checkpoint list;
  list.add("w", {{"w", w}});
  list.save(trainer, run);
  const RemoteModule net(trainer, "ps1", saved_net, 4, 1);
  static_cast<void>(net.forward(trainer, kInput));
  Checkpoint both;
  both.add("w", {{"w", w}}).add("net", net);
  cluster.kill("ps1");
  BOOST_TEST(error_of([&] { return both.save(trainer, run), 0; }).peer == "ps1");
  const auto restored = trainer.remote("ps0", &make_parameter, 2, 0.0);
  Checkpoint again;
  again.add("w", {{"w", restored}}).restore(trainer, run);
  BOOST_TEST(same_bytes(restored.to_here(trainer).value(), full({2}, 1.0)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
