// Pipelines that fail: refused inputs, stages that throw, nodes that die.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/pipeline.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/conformance/pipeline_functions.h"
#include "tests/conformance/pipeline_stages.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(pipeline_failures, *boost::unit_test::fixture<SharedCluster>())

namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using Names = std::vector<NodeName>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(inputs_that_cannot_be_split_are_refused, OnSharedCluster, *label("H-08")) {
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const Pipeline net(trainer, as_stages(modules), {.chunks = 2});
  const PipelineBatch batch(4);
  const DistContext ctx(trainer);
  expect_throw<std::invalid_argument>([&] { static_cast<void>(net.forward(ctx, Variable())); },
                                      "[Pipeline] no input is a tensor that can be split");
  expect_throw<std::invalid_argument>([&] { static_cast<void>(net.forward(ctx, NoChunk(Variable(batch.x)))); },
                                      "[Pipeline] no input is a tensor that can be split");
  expect_throw<ShapeError>([&] { static_cast<void>(net.forward(ctx, scalar(1.0F))); },
                           "[Pipeline] input 0 has no dimension to split: give it as NoChunk");
  expect_throw<std::invalid_argument>(
      [&] {
        static_cast<void>(net.forward(ctx, zeros({0, kStageInputs})));
      },
      "[Pipeline] input 0 has no rows");
  expect_throw<ShapeError>(
      [&] {
        static_cast<void>(net.loss(ctx, batch.x, &squared_error, zeros({3, kStageOutputs})));
      },
      "[Pipeline] input 0 has 4 rows, target 0 has 3");
  expect_throw<std::logic_error>(
      [&] { static_cast<void>(net.forward(trainer, Variable(batch.x, RequiresGrad::yes))); },
      "[Pipeline] input 0 requires a gradient, and the scope has no autograd context: call through a DistContext");
  expect_throw<std::logic_error>([&] { static_cast<void>(net.loss(trainer, batch.x, &squared_error, batch.y)); },
                                 "[Pipeline] the scope has no autograd context: call through a DistContext");
  using Two = Pipeline<Variable(Variable, Variable)>;
  const Two merge(trainer, {RemoteModule(trainer, "p1", merge_stage, std::int64_t{kStageInputs})}, {.chunks = 2});
  expect_throw<ShapeError>(
      [&] {
        static_cast<void>(merge.forward(ctx, batch.x, zeros({6, kStageInputs})));
      },
      "[Pipeline] input 0 has 4 rows, input 1 has 6");
  // After all these refusals the pipeline works.
  BOOST_TEST(net.forward(ctx, batch.x).size(0) == 4);
}

BOOST_FIXTURE_TEST_CASE(pipeline_that_cannot_work_is_refused, OnSharedCluster, *label("H-08")) {
  const auto modules = make_stages(trainer, {"p1", "p2"});
  const auto refuse = [&](std::vector<PipelineStage> stages, const PipelineOptions& options, const char* why) {
    expect_throw<std::invalid_argument>([&] { const Pipeline net(trainer, std::move(stages), options); }, why);
  };
  refuse(as_stages(modules), {.chunks = 0}, "[Pipeline] chunks below 1: 0");
  refuse({}, {}, "[Pipeline] there are no stages");
  refuse({RemoteModule(trainer, "p1", merge_stage, std::int64_t{kStageInputs})}, {},
         "[Pipeline] the pipeline gives (variable), stage 0 on p1 takes (variable, variable)");
  refuse({modules[0], RemoteModule(trainer, "p2", faulty_stage, std::int64_t{4}, Fault::none, std::int64_t{0})},
         {.recompute = Recompute::always},
         "[Pipeline] the forward of stage 1 takes a Scope: what it calls cannot be recomputed (a replica has "
         "synchronize instead)");
}

BOOST_FIXTURE_TEST_CASE(stage_that_throws_in_any_micro_batch_fails_the_batch_and_the_next_one_works, OnSharedCluster,
                        *label("H-13")) {
  const Names nodes{"p1", "p2", "p3"};
  const Tensor x = ones({6, 4});
  for (const bool by_loss : {false, true}) {
    for (std::size_t stage = 0; stage < 3; ++stage) {
      for (const std::int64_t at : {0, 1, 2}) {
        const Pipeline net(trainer, stages_with(trainer, nodes, stage, Fault::throws, at), {.chunks = 3});
        const DistContext ctx(trainer);
        const Error error = error_of([&] {
          if (by_loss) static_cast<void>(net.loss(ctx, x, &sum_of_result));
          else static_cast<void>(net.forward(ctx, x));
        });
        BOOST_TEST(error.code == ErrorCode::remote_exception);
        const std::string origin = "stage " + std::to_string(stage) + " of the pipeline, micro-batch " +
                                   std::to_string(at) + " on " + nodes[stage] + ": remote_exception: boom";
        BOOST_TEST(error.cause.starts_with(origin), error.text());
        const Variable loss = by_loss ? net.loss(ctx, x, &sum_of_result) : sum(net.forward(ctx, x));
        backward(ctx, loss);
        const double want = by_loss ? 24.0 * 0.125 / 3.0 : 24.0 * 0.125;
        BOOST_TEST(loss.item() == want, boost::test_tools::tolerance(1e-6));
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(backward_that_throws_in_any_micro_batch_fails_the_batch_and_leaves_no_gradient, OnSharedCluster,
                        *label("H-13")) {
  const Names nodes{"p1", "p2", "p3"};
  const Tensor x = ones({6, 4});
  for (std::size_t stage = 0; stage < 3; ++stage) {
    for (const std::int64_t at : {0, 1, 2}) {
      const Pipeline net(trainer, stages_with(trainer, nodes, stage, Fault::throws_backward, at), {.chunks = 3});
      const DistContext ctx(trainer);
      const Error error = error_of([&] { static_cast<void>(net.loss(ctx, x, &sum_of_result)); });
      BOOST_TEST(error.code == ErrorCode::remote_exception);
      BOOST_TEST(error.text().find("boom") != std::string::npos, error.text());
      BOOST_TEST(error.peer == nodes[stage]);
      for (const auto& parameter : net.parameters(trainer)) BOOST_TEST(!ctx.grad(parameter).defined());
      backward(ctx, net.loss(ctx, x, &sum_of_result));
      for (const auto& parameter : net.parameters(trainer)) BOOST_TEST(ctx.grad(parameter).defined());
    }
  }
}

BOOST_FIXTURE_TEST_CASE(loss_that_is_not_one_number_with_a_gradient_is_refused, OnSharedCluster) {
  const Tensor x = ones({6, 4});
  const Pipeline net(trainer, stages_with(trainer, {"p1", "p2"}, 9, Fault::none, 0), {.chunks = 3});
  const DistContext ctx(trainer);
  const Error rows = error_of([&] { static_cast<void>(net.loss(ctx, x, &rows_of_result)); });
  BOOST_TEST(rows.message == "[Pipeline] the loss of a micro-batch is not one number: (2)");
  const Error constant = error_of([&] { static_cast<void>(net.loss(ctx, x, &constant_loss)); });
  BOOST_TEST(constant.message == "[Pipeline] the loss of a micro-batch requires no gradient");
}

BOOST_FIXTURE_TEST_CASE(writing_to_an_input_or_a_saved_value_is_an_error_that_names_the_stage, OnSharedCluster,
                        *label("H-17")) {
  const Tensor x = ones({6, 4});
  const Pipeline writes(trainer, stages_with(trainer, {"p1", "p2"}, 1, Fault::writes, 1), {.chunks = 3});
  {
    const DistContext ctx(trainer);
    const Error error = error_of([&] { static_cast<void>(writes.forward(ctx, x)); });
    BOOST_TEST(
        error.cause.starts_with("stage 1 of the pipeline, micro-batch 1 on p2: remote_exception: [mul_] writes into "
                                "a variable that requires a gradient: do it under a NoGradGuard"),
        error.text());
  }
  const Pipeline saved(trainer, stages_with(trainer, {"p1", "p2"}, 1, Fault::writes_saved, 1), {.chunks = 3});
  {
    const DistContext ctx(trainer);
    const Error error = error_of([&] { backward(ctx, sum(saved.forward(ctx, x))); });
    BOOST_TEST(error.text().find("was written to afterwards") != std::string::npos, error.text());
    BOOST_TEST(error.peer == "p2");
  }
  // The first stage's input requires no gradient. What the stage writes there, the driver does not see.
  const Pipeline first(trainer, stages_with(trainer, {"p1", "p2"}, 0, Fault::writes, 1), {.chunks = 3});
  const DistContext ctx(trainer);
  const Tensor result = first.forward(ctx, x).value();
  BOOST_TEST(same_bytes(x, ones({6, 4})));
  BOOST_TEST(sum(result).item() == 4 * 4 * 0.25 + 2 * 4 * 0.5);
}

BOOST_AUTO_TEST_CASE(death_of_a_stage_fails_the_batch_with_its_name_and_leaves_nothing) {
  for (const bool by_loss : {false, true}) {
    TestCluster cluster({"p1", "p2", "p3"});
    Node& trainer = cluster.trainer();
    {
      const Pipeline net(trainer, stages_with(trainer, {"p1", "p2", "p3"}, 1, Fault::holds, 2), {.chunks = 4});
      const DistContext ctx(trainer);
      std::optional<Error> error;
      std::jthread driver([&] {
        error = error_of([&] {
          if (by_loss) static_cast<void>(net.loss(ctx, ones({8, 4}), &sum_of_result));
          else static_cast<void>(net.forward(ctx, ones({8, 4})));
        });
      });
      cluster.await("p2", [](const Counts& counts) { return counts.served_calls > 0; });
      cluster.kill("p2");
      driver.join();
      BOOST_TEST_REQUIRE(error.has_value());
      BOOST_TEST(error->text().find("p2") != std::string::npos, error->text());
    }
    cluster.expect_settled();
  }
}

BOOST_AUTO_TEST_CASE(death_of_a_replica_of_a_stage_fails_the_pipelines_of_all_members_with_its_name) {
  TestCluster cluster({"p1", "p2", "p3", "p4"});
  Node& trainer = cluster.trainer();
  const std::vector<Names> nodes{{"p1", "p2"}, {"p3", "p4"}};
  std::vector<std::vector<RRef<ReplicaStage>>> stages(2);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      stages[i].push_back(trainer.remote(nodes[i][k], &make_replica_stage, Names{nodes[0][k], nodes[1][k]},
                                         std::int64_t{4}, std::int64_t{4}, std::uint64_t{5}));
    }
  }
  const ReplicaStep step{.x = ones({6, 4}), .y = ones({6, 4}), .by_loss = true};
  const auto one = trainer.rpc_async("p1", &replica_step, stages[0], step);
  const auto other = trainer.rpc_async("p3", &replica_step, stages[1], step);
  BOOST_TEST(one.get().size() == other.get().size());
  std::vector<Future<std::string>> trained;
  for (std::size_t i = 0; i < 2; ++i) {
    trained.push_back(trainer.rpc_async(nodes[i][0], &replica_steps_until_failure, stages[i], step.x));
  }
  cluster.await_calls("p4", 1);
  cluster.kill("p4");
  for (const auto& failed : trained) {
    const std::string error = failed.get();
    BOOST_TEST(error.find("p4") != std::string::npos, error);
  }
}

BOOST_FIXTURE_TEST_CASE(batch_whose_stage_is_late_fails_by_its_deadline_and_the_next_one_works, OnSharedCluster) {
  const Tensor x = ones({6, 4});
  for (const bool by_loss : {false, true}) {
    const Pipeline net(trainer, stages_with(trainer, {"p1", "p2", "p3"}, 1, Fault::holds, 1), {.chunks = 3});
    const DistContext ctx(trainer.with({.deadline = 300ms}));
    // The driver or the stage is the first to see that time is up.
    const Error error = error_of([&] {
      if (by_loss) static_cast<void>(net.loss(ctx, x, &sum_of_result));
      else static_cast<void>(net.forward(ctx, x));
    });
    BOOST_TEST((error.code == ErrorCode::timeout || error.code == ErrorCode::remote_exception), error.text());
    const DistContext other(trainer);
    backward(other, net.loss(other, x, &sum_of_result));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
