// Pipelines: networks in stages on several nodes, through which batches go in micro-batches.
#include "actors/pipeline.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/pipeline/balance.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "autograd/ops/loss.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/pipeline_functions.h"
#include "tests/conformance/pipeline_stages.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(pipelines, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;
using Names = std::vector<NodeName>;
using Tensors = std::vector<Tensor>;

/// What a step leaves: the loss, the gradient of every parameter of every stage, then that of the input.
struct Step {
  Tensor loss;
  Tensors gradients;
};

enum class Way { forward, loss };

Step run_step(Node& trainer, const Pipeline<>& net, const PipelineBatch& batch, Way way) {
  const DistContext ctx(trainer);
  const Variable x(batch.x, RequiresGrad::yes);
  const Variable loss =
      way == Way::forward ? mse_loss(net.forward(ctx, x), batch.y) : net.loss(ctx, x, &squared_error, batch.y);
  backward(ctx, loss);
  Step step{loss.value(), {}};
  for (const RRef<Variable>& parameter : net.parameters(trainer)) step.gradients.push_back(ctx.grad(parameter));
  step.gradients.push_back(ctx.grad(x));
  return step;
}

/// The same in this process, with the whole batch at once and no nodes.
Step run_here(const PipelineBatch& batch, std::size_t stages) {
  std::vector<std::unique_ptr<DenseStage>> modules;
  Variable x(batch.x, RequiresGrad::yes);
  Variable y = x;
  for (std::size_t i = 0; i < stages; ++i) {
    modules.push_back(std::make_unique<DenseStage>(i == 0 ? kStageInputs : kStageWidth,
                                                   i + 1 == stages ? kStageOutputs : kStageWidth, false, 0.0, 10 + i));
    y = modules.back()->forward(y);
  }
  const Variable loss = mse_loss(y, batch.y);
  const Gradients gradients = backward(loss);
  Step step{loss.value(), {}};
  for (const auto& module : modules) {
    for (const Variable& parameter : module->parameters()) step.gradients.push_back(gradients.of(parameter));
  }
  step.gradients.push_back(gradients.of(x));
  return step;
}

void check_close(const Step& got, const Step& want) {
  BOOST_TEST(allclose(got.loss, want.loss, 1e-5, 1e-7));
  BOOST_TEST_REQUIRE(got.gradients.size() == want.gradients.size());
  for (std::size_t i = 0; i < want.gradients.size(); ++i) {
    BOOST_TEST_REQUIRE(got.gradients[i].defined(), "gradient " << i);
    BOOST_TEST(allclose(got.gradients[i], want.gradients[i], 1e-5, 1e-7), "gradient " << i);
  }
}

void check_same(const Step& got, const Step& want) {
  BOOST_TEST(same_bytes(got.loss, want.loss));
  BOOST_TEST_REQUIRE(got.gradients.size() == want.gradients.size());
  for (std::size_t i = 0; i < want.gradients.size(); ++i) {
    BOOST_TEST_REQUIRE(got.gradients[i].defined(), "gradient " << i);
    BOOST_TEST(same_bytes(got.gradients[i], want.gradients[i]), "gradient " << i);
  }
}

/// Sums from the last part to the first, as gradients of micro-batches are.
Tensor sum_from_last(const Tensors& parts) {
  Tensor sum;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) sum = sum.defined() ? sum + *part : *part;
  return sum;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> counts_of(Node& trainer, const RemoteModule<DenseStage>& stage) {
  return stage.module_rref().rpc_sync(trainer, &DenseStage::counts);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(two_stages_give_the_results_and_gradients_of_the_whole_network, OnSharedCluster,
                        *label("H-07")) {
  const PipelineBatch batch(8);
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 4});
  for (const Way way : {Way::forward, Way::loss}) check_close(run_step(trainer, net, batch, way), run_here(batch, 2));
}

BOOST_FIXTURE_TEST_CASE(stages_of_balanced_layers_give_the_gradients_of_the_whole_network, OnSharedCluster,
                        *label("H-16")) {
  const PipelineBatch batch(6);
  LayerShare whole(0, LayerShare::kLayers);
  const std::vector<std::size_t> counts = balance_by_size(whole.layers(), batch.x, 2);
  BOOST_TEST(counts == (std::vector<std::size_t>{1, 4}));  // the first layer has 240 of the 459 parameters
  std::vector<PipelineStage> stages;
  std::int64_t first = 0;
  for (const std::size_t count : counts) {
    const auto layers = static_cast<std::int64_t>(count);
    stages.emplace_back(RemoteModule(trainer, stages.empty() ? "p1" : "p2", layer_share, first, layers));
    first += layers;
  }
  const Variable x(batch.x, RequiresGrad::yes);
  const Variable loss = mse_loss(whole.forward(x), batch.y);
  const Gradients gradients = backward(loss);
  Step want{loss.value(), {}};
  for (const Variable& parameter : whole.parameters()) want.gradients.push_back(gradients.of(parameter));
  want.gradients.push_back(gradients.of(x));
  const Pipeline net(trainer, stages, {.chunks = 3});
  for (const Way way : {Way::forward, Way::loss}) check_close(run_step(trainer, net, batch, way), want);
}

// One chunk, equal ones, an uneven last one, fewer rows than chunks, one row.
BOOST_FIXTURE_TEST_CASE(number_of_micro_batches_changes_no_result, OnSharedCluster, *label("H-07")) {
  const auto modules = make_stages(trainer, {"p1", "p2", "p3"});
  for (const auto& [rows, chunks] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 1}, {7, 3}, {3, 8}, {1, 4}}) {
    const PipelineBatch batch(rows);
    const Pipeline net(trainer, as_stages(modules), {.chunks = chunks});
    for (const Way way : {Way::forward, Way::loss}) check_close(run_step(trainer, net, batch, way), run_here(batch, 3));
  }
}

BOOST_FIXTURE_TEST_CASE(result_is_left_on_the_last_node_as_a_reference, OnSharedCluster, *label("H-07")) {
  const PipelineBatch batch(7);
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 3});
  const DistContext ctx(trainer);
  const RRef<Variable> result = net.forward_remote(ctx, batch.x);
  BOOST_TEST(result.owner() == "p2");
  const Variable loss = result.rpc_sync(ctx, &squared_error, batch.y);
  backward(ctx, loss);
  Step step{loss.value(), {}};
  for (const RRef<Variable>& parameter : net.parameters(trainer)) step.gradients.push_back(ctx.grad(parameter));
  Step want = run_here(batch, 2);
  want.gradients.pop_back();
  check_close(step, want);
  BOOST_TEST(same_bytes(result.to_here(ctx).value(), net.forward(ctx, batch.x).value()));
}

BOOST_FIXTURE_TEST_CASE(gradients_are_those_of_all_stages_on_one_node_bit_for_bit, OnSharedCluster, *label("H-14")) {
  const PipelineBatch batch(11);
  const std::vector<Names> placements{{"p1", "p1", "p1"},
                                      {"p1", "p2", "p3"},
                                      {"p3", "trainer", "p3"},
                                      {"trainer", "p4", "trainer"},
                                      {"p2", "p2", "p4"}};
  for (const Schedule schedule : {Schedule::fill_drain, Schedule::one_f_one_b}) {
    for (const Way way : {Way::forward, Way::loss}) {
      std::vector<Step> steps;
      for (const Names& nodes : placements) {
        const auto modules = make_stages(trainer, nodes, {.norm = true, .drops = 0.25});
        const Pipeline net(trainer, as_stages(modules), {.chunks = 4, .schedule = schedule});
        steps.push_back(run_step(trainer, net, batch, way));
        check_same(steps.back(), steps.front());
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(both_schedules_sum_the_same_gradients_from_the_last_micro_batch_to_the_first, OnSharedCluster,
                        *label("H-14")) {
  const PipelineBatch batch(12);
  std::vector<Step> steps;
  for (const Schedule schedule : {Schedule::fill_drain, Schedule::one_f_one_b}) {
    const auto modules = make_stages(trainer, {"p1", "p2"});
    const Pipeline net(trainer, as_stages(modules), {.chunks = 4, .schedule = schedule, .loss_of = LossOf::sum});
    steps.push_back(run_step(trainer, net, batch, Way::loss));
  }
  check_same(steps[0], steps[1]);
  // By hand: each micro-batch alone.
  std::vector<Tensors> parts;
  for (std::int64_t i = 0; i < 4; ++i) {
    DenseStage first(kStageInputs, kStageWidth, false, 0.0, 10);
    DenseStage second(kStageWidth, kStageOutputs, false, 0.0, 11);
    const Variable y = second.forward(first.forward(batch.x.slice(0, 3 * i, 3 * i + 3)));
    const Gradients gradients = backward(mse_loss(y, batch.y.slice(0, 3 * i, 3 * i + 3)));
    Tensors own;
    for (const auto* module : {&first, &second}) {
      for (const Variable& parameter : module->parameters()) own.push_back(gradients.of(parameter));
    }
    parts.push_back(std::move(own));
  }
  for (std::size_t k = 0; k < parts[0].size(); ++k) {
    const Tensor want = sum_from_last({parts[0][k], parts[1][k], parts[2][k], parts[3][k]});
    BOOST_TEST(same_bytes(steps[1].gradients[k], want), "gradient " << k);
  }
}

BOOST_FIXTURE_TEST_CASE(stage_has_no_more_live_micro_batches_than_stages_from_it_on, OnSharedCluster) {
  const PipelineBatch batch(16);
  const Names nodes{"p1", "p2", "p3"};
  for (const auto& [schedule, most] : std::vector<std::pair<Schedule, std::vector<std::int64_t>>>{
           {Schedule::one_f_one_b, {3, 2, 1}}, {Schedule::fill_drain, {8, 8, 8}}}) {
    const auto modules = make_stages(trainer, nodes);
    const Pipeline net(trainer, as_stages(modules), {.chunks = 8, .schedule = schedule});
    static_cast<void>(run_step(trainer, net, batch, Way::loss));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [forwards, replays, live] = counts_of(trainer, modules[i]);
      BOOST_TEST(forwards == 8);
      BOOST_TEST(live <= most[i], "stage " << i);
      if (schedule == Schedule::fill_drain) BOOST_TEST(live == 8);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(micro_batches_are_recomputed_always_or_except_the_last_or_never, OnSharedCluster,
                        *label("H-07")) {
  const PipelineBatch batch(8);
  for (const Way way : {Way::forward, Way::loss}) {
    const auto plain = make_stages(trainer, {"p1", "p2"}, {.norm = true, .drops = 0.25});
    const Step want = run_step(trainer, Pipeline(trainer, as_stages(plain), {.chunks = 4}), batch, way);
    for (const auto& [recompute, replays] : std::vector<std::pair<Recompute, std::int64_t>>{
             {Recompute::always, 4}, {Recompute::except_last, 3}, {Recompute::never, 0}}) {
      const auto modules = make_stages(trainer, {"p1", "p2"}, {.norm = true, .drops = 0.25});
      const Pipeline net(trainer, as_stages(modules), {.chunks = 4, .recompute = recompute});
      check_same(run_step(trainer, net, batch, way), want);
      for (const auto& module : modules) {
        BOOST_TEST(std::get<0>(counts_of(trainer, module)) == 4);
        BOOST_TEST(std::get<1>(counts_of(trainer, module)) == replays);
      }
    }
  }
}

// Random numbers of a replay are those of the first run, running statistics take each micro-batch in once, and the
// network has as many numbers left as without recomputation.
BOOST_FIXTURE_TEST_CASE(recomputation_keeps_random_numbers_and_statistics, OnSharedCluster, *label("H-11")) {
  const PipelineBatch batch(8);
  std::vector<Step> steps;
  Tensors means;
  for (const Recompute recompute : {Recompute::never, Recompute::always}) {
    const auto modules = make_stages(trainer, {"p1", "p2"}, {.norm = true, .drops = 0.5});
    const Pipeline net(trainer, as_stages(modules), {.chunks = 2, .recompute = recompute});
    for (int i = 0; i < 3; ++i) steps.push_back(run_step(trainer, net, batch, Way::loss));
    means.push_back(trainer.rpc_sync("p1", &buffer_of, modules[0].module_rref(), "norm.running_mean"));
    net.eval(trainer);
    static_cast<void>(run_step(trainer, net, batch, Way::forward));  // in eval mode nothing is recomputed
    BOOST_TEST(std::get<1>(counts_of(trainer, modules[1])) == (recompute == Recompute::always ? 6 : 0));
  }
  for (std::size_t i = 0; i < 3; ++i) check_same(steps[3 + i], steps[i]);
  BOOST_TEST(same_bytes(means[0], means[1]));
}

BOOST_FIXTURE_TEST_CASE(deferred_statistics_are_those_of_the_whole_batch, OnSharedCluster, *label("H-10")) {
  const PipelineBatch batch(11);
  for (const Recompute recompute : {Recompute::never, Recompute::always}) {
    const auto modules = make_stages(trainer, {"p1", "p2"}, {.norm = true});
    const Pipeline net(trainer, as_stages(modules), {.chunks = 4, .recompute = recompute, .deferred_batch_norm = true});
    DenseStage whole(kStageInputs, kStageWidth, true, 0.0, 10);
    for (const Way way : {Way::forward, Way::loss}) {
      static_cast<void>(run_step(trainer, net, batch, way));
      static_cast<void>(whole.forward(batch.x));
      for (const auto& [name, value] : whole.named_buffers()) {
        const Tensor got = trainer.rpc_sync("p1", &buffer_of, modules[0].module_rref(), name);
        BOOST_TEST(allclose(got.to(DType::f64), value.value().to(DType::f64), 1e-5, 1e-7), name);
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(values_of_many_kinds_go_through_as_in_one_process, OnSharedCluster, *label("H-09")) {
  using Net = Pipeline<std::tuple<Variable, Tensor, std::string, Variable>(std::int64_t, Variable, bool,
                                                                           std::optional<Variable>)>;
  const Net net(trainer, {RemoteModule(trainer, "p1", many_giver), RemoteModule(trainer, "p2", many_taker)},
                {.chunks = 3});
  const PipelineBatch batch(7);
  for (const bool c : {false, true}) {
    for (const bool with_d : {false, true}) {
      const Variable b(batch.x, RequiresGrad::yes);
      const std::optional<Variable> d = with_d ? std::optional(Variable(batch.x * 0.5)) : std::nullopt;
      const DistContext ctx(trainer);
      const auto [result, tensor, text, none] = net.forward(ctx, 3, b, c, d);
      const auto [given, unused_c, unused_a, unused_d, hello, undefined] = ManyGiver().forward(3, b, c, d);
      const auto want = ManyTaker().forward(given, c, 3, d, hello, undefined);
      BOOST_TEST(same_bytes(result.value(), std::get<0>(want).value()));
      BOOST_TEST(same_bytes(tensor, std::get<1>(want)));
      BOOST_TEST(text == "hello again");
      BOOST_TEST(!none.defined());
      backward(ctx, sum(result));
      BOOST_TEST(same_bytes(ctx.grad(b), backward(sum(std::get<0>(want))).of(b)));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(value_that_is_not_split_reaches_every_micro_batch_whole, OnSharedCluster, *label("H-09")) {
  using Net = Pipeline<Variable(Variable, Variable)>;
  const Net net(trainer, {RemoteModule(trainer, "p1", merge_stage, std::int64_t{kStageInputs})},
                {.chunks = 3, .loss_of = LossOf::sum});
  const PipelineBatch batch(7);
  Generator generator(9);
  const Tensor row = randn({1, kStageInputs}, generator);
  for (const bool by_loss : {false, true}) {
    const Variable shared(row, RequiresGrad::yes);
    const DistContext ctx(trainer);
    const Variable loss =
        by_loss ? net.loss(ctx, std::tuple(Variable(batch.x), NoChunk(shared)), &sum_of_squares, NoChunk(row * 2.0))
                : sum_of_squares(net.forward(ctx, batch.x, NoChunk(shared)), row * 2.0);
    backward(ctx, loss);
    const Variable here(row, RequiresGrad::yes);
    MergeStage merge(kStageInputs);
    const Variable want = sum_of_squares(merge.forward(batch.x, here), row * 2.0);
    BOOST_TEST(allclose(loss.value(), want.value(), 1e-5, 1e-7));
    BOOST_TEST(allclose(ctx.grad(shared), backward(want).of(here), 1e-5, 1e-7));
  }
}

BOOST_FIXTURE_TEST_CASE(skip_goes_from_stage_to_stage_past_those_between, OnSharedCluster, *label("H-15")) {
  const PipelineBatch batch(7);
  const auto make = [&](const Names& nodes) {
    return std::vector<PipelineStage>{
        {RemoteModule(trainer, nodes[0], fork_stage, std::int64_t{kStageInputs}), {.stash = {"x"}}},
        RemoteModule(trainer, nodes[1], dense_stage, kStageInputs, kStageInputs, false, 0.0, std::uint64_t{4}),
        {RemoteModule(trainer, nodes[2], merge_stage, std::int64_t{kStageInputs}), {.pop = {"x"}}}};
  };
  ForkStage fork(kStageInputs);
  DenseStage dense(kStageInputs, kStageInputs, false, 0.0, 4);
  MergeStage merge(kStageInputs);
  const Variable x(batch.x, RequiresGrad::yes);
  const auto [main, skipped] = fork.forward(x);
  const Variable want = merge.forward(dense.forward(main), skipped);
  const Gradients gradients = backward(sum(want));
  for (const Recompute recompute : {Recompute::never, Recompute::always}) {
    for (const bool by_loss : {false, true}) {
      const Pipeline net(trainer, make({"p1", "p2", "p3"}),
                         {.chunks = 3, .recompute = recompute, .loss_of = LossOf::sum});
      const Variable input(batch.x, RequiresGrad::yes);
      const DistContext ctx(trainer);
      const Variable loss = by_loss ? net.loss(ctx, input, &sum_of_result) : sum(net.forward(ctx, input));
      backward(ctx, loss);
      BOOST_TEST(allclose(loss.value(), sum(want).value(), 1e-5, 1e-6));
      BOOST_TEST(allclose(ctx.grad(input), gradients.of(x), 1e-5, 1e-7));
      const auto parameters = net.parameters(trainer);
      BOOST_TEST(allclose(ctx.grad(parameters.front()), gradients.of(fork.parameters()[0]), 1e-5, 1e-6));
      BOOST_TEST(allclose(ctx.grad(parameters.back()), gradients.of(merge.parameters()[0]), 1e-5, 1e-6));
    }
  }
  expect_throw<std::invalid_argument>(
      [&] {
        const std::vector<PipelineStage> unmatched{
            {RemoteModule(trainer, "p1", fork_stage, std::int64_t{kStageInputs}), {.stash = {"x"}}},
            RemoteModule(trainer, "p2", dense_stage, kStageInputs, kStageInputs, false, 0.0, std::uint64_t{4})};
        const Pipeline net(trainer, unmatched);
      },
      "[Pipeline] \"x\", stashed by stage 0, is popped by no stage");
}

// A stage whose result requires no gradient has no backward: the stages before it must not wait for one.
BOOST_FIXTURE_TEST_CASE(stages_that_no_gradient_reaches_do_not_hold_up_the_others, OnSharedCluster) {
  const Tensor x = ones({8, 4});
  const Pipeline net(trainer, stages_with(trainer, {"p1", "p2", "p3"}, 1, Fault::gives_no_gradient, 0), {.chunks = 8});
  const DistContext ctx(trainer);
  backward(ctx, net.loss(ctx, x, &sum_of_result));
  const auto parameters = net.parameters(trainer);
  BOOST_TEST(allclose(ctx.grad(parameters[0]), full({4}, 7.0 / 8.0 * 0.25), 1e-6, 1e-7));  // not of micro-batch 0
  BOOST_TEST(allclose(ctx.grad(parameters[2]), full({4}, (0.5 + 7.0 * 0.25) / 8.0), 1e-6, 1e-7));
  // An input that no gradient reaches has none.
  const Pipeline cut(trainer, stages_with(trainer, {"p1", "p2"}, 0, Fault::gives_no_gradient, 0), {.chunks = 1});
  const Variable input(x, RequiresGrad::yes);
  const DistContext other(trainer);
  backward(other, cut.loss(other, input, &sum_of_result));
  BOOST_TEST(!other.grad(input).defined());
  BOOST_TEST(other.grad(cut.parameters(trainer)[1]).defined());
}

BOOST_FIXTURE_TEST_CASE(evaluation_without_gradients_needs_no_context_and_records_nothing, OnSharedCluster,
                        *label("H-13")) {
  const PipelineBatch batch(8);
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 4});
  const Tensor want = [&] {
    const DistContext ctx(trainer);
    return net.forward(ctx, batch.x).value();
  }();
  const auto [forwards, replays, live] = counts_of(trainer, modules[1]);
  const NoGradGuard no_grad;
  const Variable result = net.forward(trainer, Variable(batch.x, RequiresGrad::yes));
  BOOST_TEST(!result.requires_grad());
  BOOST_TEST(same_bytes(result.value(), want));
  const DistContext ctx(trainer);
  BOOST_TEST(!net.forward(ctx, batch.x).requires_grad());
  BOOST_TEST(std::get<0>(counts_of(trainer, modules[1])) == forwards + 8);
  BOOST_TEST(std::get<2>(counts_of(trainer, modules[1])) == live);  // no result waits for a gradient
  expect_throw<std::logic_error>([&] { static_cast<void>(net.loss(ctx, batch.x, &squared_error, batch.y)); },
                                 "[Pipeline] gradients are disabled: use forward");
}

BOOST_FIXTURE_TEST_CASE(loss_is_part_of_the_users_graph, OnSharedCluster) {
  const PipelineBatch batch(8);
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 4});
  const Step want = run_here(batch, 2);
  // The input is the result of an operation here, the loss is scaled, and the parameters of p1 have a second loss.
  const Variable half(batch.x * 0.5, RequiresGrad::yes);
  const DistContext ctx(trainer);
  const auto parameters = net.parameters(trainer);
  const Variable weight = parameters[0].to_here(ctx);
  backward(ctx, net.loss(ctx, half * 2.0, &squared_error, batch.y) * 4.0 + sum(weight));
  BOOST_TEST(allclose(ctx.grad(half), want.gradients.back() * 8.0, 1e-5, 1e-7));
  BOOST_TEST(allclose(ctx.grad(parameters[0]), want.gradients[0] * 4.0 + 1.0, 1e-5, 1e-7));
  BOOST_TEST(allclose(ctx.grad(parameters[1]), want.gradients[1] * 4.0, 1e-5, 1e-7));
}

BOOST_FIXTURE_TEST_CASE(batches_of_several_threads_follow_each_other, OnSharedCluster) {
  const PipelineBatch batch(8);
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 4});
  const Step want = run_step(trainer, net, batch, Way::forward);
  std::vector<std::jthread> threads;
  std::vector<Step> steps(6);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    threads.emplace_back([&, i] { steps[i] = run_step(trainer, net, batch, i % 2 == 0 ? Way::loss : Way::forward); });
  }
  threads.clear();
  for (const Step& step : steps) check_close(step, want);
}

BOOST_FIXTURE_TEST_CASE(traffic_of_the_driver_does_not_grow_with_what_goes_between_stages, OnSharedCluster) {
  constexpr std::int64_t kWide = 20'000;  // a micro-batch of one row is 80 kB between the stages
  const RemoteModule<DenseStage> first(trainer, "p1", dense_stage, std::int64_t{2}, kWide, false, 0.0,
                                       std::uint64_t{1});
  const RemoteModule<DenseStage> second(trainer, "p2", dense_stage, kWide, std::int64_t{2}, false, 0.0,
                                        std::uint64_t{2});
  const auto sent = [&](const NodeName& from, const NodeName& to) {
    return trainer.rpc_sync(from, &bytes_with, to).first;
  };
  const Pipeline net(trainer, {first, second}, {.chunks = 8});
  for (const Way way : {Way::forward, Way::loss}) {
    const std::uint64_t to_first = sent("trainer", "p1"), to_second = sent("trainer", "p2");
    const std::uint64_t from_first = sent("p1", "trainer"), from_second = sent("p2", "trainer");
    const std::uint64_t between = sent("p1", "p2"), back = sent("p2", "p1");
    const DistContext ctx(trainer);
    const Tensor x = ones({8, 2});
    backward(ctx, way == Way::forward ? sum(net.forward(ctx, x)) : net.loss(ctx, x, &sum_of_result));
    constexpr std::uint64_t kActivations = 8 * kWide * 4;
    BOOST_TEST(sent("p1", "p2") - between >= kActivations);
    BOOST_TEST(sent("p1", "p2") - between < 2 * kActivations);
    BOOST_TEST(sent("p2", "p1") - back >= kActivations);  // their gradients
    for (const std::uint64_t bytes : {sent("trainer", "p1") - to_first, sent("trainer", "p2") - to_second,
                                      sent("p1", "trainer") - from_first, sent("p2", "trainer") - from_second}) {
      BOOST_TEST(bytes < kActivations / 8);
    }
  }
}

namespace {

/// Two pipelines, p1 -> p2 and p3 -> p4, with replicas on p1 and p3, and on p2 and p4. The drivers are p1 and p3.
struct Replicated {
  explicit Replicated(Node& node) : trainer(node), batches{PipelineBatch(6, 3), PipelineBatch(6, 77)} {
    const std::vector<Names> nodes{{"p1", "p2"}, {"p3", "p4"}};
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t k = 0; k < 2; ++k) {
        stages[i].push_back(trainer.remote(nodes[i][k], &make_replica_stage, Names{nodes[0][k], nodes[1][k]},
                                           k == 0 ? kStageInputs : kStageWidth, k == 0 ? kStageWidth : kStageOutputs,
                                           5 + k));
      }
    }
  }

  /// Performs a step on both; `change` changes that of the second. Returns their gradients, which must be the same.
  Tensors step(ReplicaStep plan, const std::function<void(ReplicaStep&)>& change = {}) const {
    std::vector<Future<Tensors>> arriving;
    for (std::size_t i = 0; i < 2; ++i) {
      plan.x = batches[i].x;
      plan.y = batches[i].y;
      if (i == 1 && change) change(plan);
      arriving.push_back(trainer.rpc_async(i == 0 ? "p1" : "p3", &replica_step, stages[i], plan));
    }
    const Tensors first = arriving[0].get();
    const Tensors second = arriving[1].get();
    BOOST_TEST_REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) BOOST_TEST(same_bytes(first[i], second[i]), "gradient " << i);
    return first;
  }

  /// The last stage of the second pipeline has no gradients from now on.
  void freeze_one() {
    one_is_frozen = true;
    stages[1][1].rpc_sync(trainer, &ReplicaStage::freeze_all);
  }

  /// The same in this process: the mean of the gradients of the two batches, each at once.
  [[nodiscard]] Tensors means() const {
    HalfUsed front(kStageInputs, kStageWidth, 5);
    HalfUsed back(kStageWidth, kStageOutputs, 6);
    Tensors sums;
    for (const PipelineBatch& batch : batches) {
      if (one_is_frozen && !sums.empty()) back.freeze();
      const Gradients gradients = backward(mse_loss(back.forward(front.forward(batch.x)), batch.y));
      std::size_t i = 0;
      for (HalfUsed* const half : {&front, &back}) {
        for (const Variable& parameter : half->parameters()) {
          const Tensor gradient = gradients.of(parameter);
          if (i == sums.size()) sums.push_back(gradient.defined() ? gradient * 0.5 : zeros({0}));
          else if (gradient.defined()) sums[i] = sums[i] + gradient * 0.5;
          ++i;
        }
      }
    }
    return sums;
  }

  [[nodiscard]] std::int64_t sums_of_a_member() const { return stages[0][1].rpc_sync(trainer, &ReplicaStage::sums); }

  Node& trainer;
  std::vector<PipelineBatch> batches;
  std::vector<std::vector<RRef<ReplicaStage>>> stages{2};
  bool one_is_frozen = false;
};

void check_close(const Tensors& got, const Tensors& want) {
  BOOST_TEST_REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    BOOST_TEST_REQUIRE(got[i].numel() == want[i].numel(), "gradient " << i);  // 0: of a layer that is not used
    BOOST_TEST(allclose(got[i], want[i], 1e-5, 1e-7), "gradient " << i);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(replicas_of_a_pipeline_have_the_mean_of_their_gradients, OnSharedCluster, *label("H-06")) {
  const Replicated pipelines(trainer);
  check_close(pipelines.step({}), pipelines.means());
}

// A round of these small replicas is one sum; before the first one they settle who has a pass, and the plan.
BOOST_FIXTURE_TEST_CASE(replicas_of_a_pipeline_are_reduced_once_for_all_micro_batches, OnSharedCluster,
                        *label("H-06")) {
  const Replicated pipelines(trainer);
  const Tensors want = pipelines.means();
  std::int64_t before = 0;
  for (const Schedule schedule : {Schedule::one_f_one_b, Schedule::fill_drain, Schedule::one_f_one_b}) {
    check_close(pipelines.step({.by_loss = true, .schedule = schedule}), want);
    const std::int64_t after = pipelines.sums_of_a_member();
    BOOST_TEST(after - before == (before == 0 ? 3 : 1));
    before = after;
  }
}

BOOST_FIXTURE_TEST_CASE(replica_without_gradients_of_its_own_takes_part_in_the_round, OnSharedCluster, *label("H-06")) {
  Replicated pipelines(trainer);
  pipelines.freeze_one();
  for (const bool by_loss : {true, false}) check_close(pipelines.step({.by_loss = by_loss}), pipelines.means());
}

// A recomputed forward is part of the pass, and joins no round of its own.
BOOST_FIXTURE_TEST_CASE(recomputation_changes_no_bit_of_the_mean_of_replicas, OnSharedCluster, *label("H-06")) {
  const Replicated pipelines(trainer);
  for (const bool by_loss : {false, true}) {
    const Tensors want = pipelines.step({.by_loss = by_loss});
    for (const Recompute recompute : {Recompute::except_last, Recompute::always}) {
      const Tensors got = pipelines.step({.by_loss = by_loss, .recompute = recompute});
      BOOST_TEST_REQUIRE(got.size() == want.size());
      for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(same_bytes(got[i], want[i]), "gradient " << i);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(loss_that_throws_is_no_round_of_its_replicas, OnSharedCluster) {
  const Replicated pipelines(trainer);
  const auto fail_first = [](ReplicaStep& step) { step.fails_first = true; };
  check_close(pipelines.step({.by_loss = true}, fail_first), pipelines.means());
  check_close(pipelines.step({.by_loss = true}), pipelines.means());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
