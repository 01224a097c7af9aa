// Contexts that end early while their creator lives: nothing that is done in them afterwards succeeds.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/scenarios/sim_seeds.h"
#include "tests/scenarios/training_functions.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(sim_aborted_context)

namespace {

using namespace std::chrono_literals;

const std::vector<NodeName> kNames{"trainer", "ps0", "ps1", "helper"};

/// Tells `to` that the context has ended: by its creator's death, or by its release.
void say_that_it_is_dead(Scope& scope, const std::string& to) {
  const ContextId& context = *scope.state().context;
  Error why;
  why.code = ErrorCode::context_aborted;
  why.peer = context.creator;
  why.message = "gone";
  scope.state().node->notify(to, "", msg::ContextAborted{context, why});
}
void say_that_it_is_released(Scope& scope, const std::string& to) {
  scope.state().node->notify(to, "", msg::ContextReleased{*scope.state().context});
}

FunctionRegistry functions() {
  return training_functions().with(
      {{"say_that_it_is_dead", &say_that_it_is_dead}, {"say_that_it_is_released", &say_that_it_is_released}});
}

/// A context of the trainer in which ps0 has called helper: the trainer does not know that helper takes part.
struct WithHelper {
  WithHelper() {
    Variable y = context->rpc_sync("ps0", &scale, x, w0);
    y = add(y, context->rpc_sync("ps1", &scale, x, w1));
    loss = sum(add(y, context->rpc_sync("ps0", &scale_at, std::string("helper"), x, wh)));
  }

  float value(const Parameter& parameter) {
    return trainer.rpc_sync(parameter.owner(), &value_of, parameter).item<float>();
  }

  /// Trainer and helper are dead to each other.
  void lose_helper() {
    cut_both_ways(world, "trainer", "helper");
    world.run_for(60s);
  }

  /// Each kind of step fails with the end of the context, and no parameter has changed.
  void check_that_no_step_is_taken() {
    for (const StepMode mode : {StepMode::atomic, StepMode::hogwild}) {
      for (const std::vector<Parameter>& parameters : {std::vector{w0}, std::vector{w0, w1}}) {
        const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, parameters, mode);
        for (const std::optional<double> max_norm : {std::optional<double>(), std::optional(10.0)}) {
          const Error error = error_of([&] { return optimizer.step(*context, {.max_norm = max_norm}), 0; });
          BOOST_TEST((error.code == ErrorCode::context_aborted), error.text());
        }
        const Error norm = error_of([&] { return optimizer.gradient_norm(*context); });
        BOOST_TEST((norm.code == ErrorCode::context_aborted), norm.text());
        const Error overlap = error_of([&] { return optimizer.overlap(*context), 0; });
        BOOST_TEST((overlap.code == ErrorCode::context_aborted), overlap.text());
      }
    }
    BOOST_TEST(value(w0) == 0.0F);
    BOOST_TEST(value(w1) == 0.0F);
  }

  void check_that_nothing_is_left() {
    context.reset();
    for (const NodeName& name : kNames) {
      BOOST_TEST(world.step_until([&] { return world.node(name).counts().contexts == 0; }, 5s), name);
    }
  }

  sim::World world{{.seed = 1}, kNames, functions()};
  const TraceIfFailed show{world};
  Node& trainer = world.node("trainer");
  Parameter w0 = trainer.remote("ps0", &make_parameter, 1, 0.0);
  Parameter w1 = trainer.remote("ps1", &make_parameter, 1, 0.0);
  Parameter wh = trainer.remote("helper", &make_parameter, 1, 0.0);
  Variable x{full({1}, 0.5), RequiresGrad::yes};
  Variable loss;
  std::optional<DistContext> context{trainer};
};

}  // namespace

BOOST_AUTO_TEST_CASE(context_whose_creator_one_node_has_lost_is_aborted_on_the_creator_too,
                     *boost::unit_test::label("fault-F09")) {
  WithHelper nodes;
  backward(*nodes.context, nodes.loss);
  BOOST_TEST(nodes.context->grad(nodes.w0).item<float>() == 0.5F);
  nodes.lose_helper();
  const Error own = error_of([&] { return nodes.context->grad(nodes.x); });
  BOOST_TEST((own.code == ErrorCode::context_aborted), own.text());
  const Error at_owner = error_of([&] { return nodes.context->grad(nodes.w0); });
  BOOST_TEST((at_owner.code == ErrorCode::context_aborted), at_owner.text());
  nodes.check_that_no_step_is_taken();
  nodes.check_that_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(pass_fails_when_a_node_that_takes_part_has_lost_the_creator,
                     *boost::unit_test::label("fault-F09")) {
  for (const bool is_lost_before : {true, false}) {
    for (const Deadline deadline : {Deadline(10min), Deadline::while_peer_lives()}) {
      WithHelper nodes;
      is_lost_before ? nodes.lose_helper() : cut_both_ways(nodes.world, "trainer", "helper");
      const auto pass = backward_async(nodes.context->with({.deadline = deadline}), nodes.loss);
      nodes.world.run_for(60s);
      BOOST_TEST_REQUIRE(pass.ready());
      const Error error = error_of([&] { return pass.get(), 0; });
      BOOST_TEST((error.code == ErrorCode::context_aborted), error.text());
      nodes.check_that_no_step_is_taken();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_word_that_the_creator_is_dead_aborts_the_context_of_a_creator_that_lives,
                     *boost::unit_test::label("attack")) {
  WithHelper nodes;
  backward(*nodes.context, nodes.loss);
  nodes.context->rpc_sync("helper", &say_that_it_is_dead, std::string("ps0"));
  nodes.world.run_for(1s);
  nodes.check_that_no_step_is_taken();
  const Error error = error_of([&] { return backward(*nodes.context, nodes.loss), 0; });
  BOOST_TEST((error.code == ErrorCode::context_aborted), error.text());
  nodes.check_that_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(no_step_is_taken_in_a_context_that_its_own_node_knows_to_be_aborted,
                     *boost::unit_test::label("attack")) {
  WithHelper nodes;
  backward(*nodes.context, nodes.loss);
  for (const char* owner : {"ps0", "ps1"})  // which forget the context
    nodes.context->rpc_sync("helper", &say_that_it_is_released, std::string(owner));
  nodes.world.run_for(1s);
  nodes.check_that_no_step_is_taken();
  nodes.check_that_nothing_is_left();
}

BOOST_AUTO_TEST_CASE(lost_word_on_the_creator_aborts_the_context_everywhere_and_is_the_cause) {
  WithHelper nodes;
  backward(*nodes.context, nodes.loss);
  detail::NodeCore& core = nodes.trainer.core();
  const auto pass = backward_async(*nodes.context, nodes.loss);
  // As its router does without memory for gradients of ps0.
  const Error why = core.error(ErrorCode::resource_exhausted, "trainer", {}, "trainer has no memory for 8192 bytes");
  BOOST_TEST(core.contexts().word_lost("trainer/context/" + nodes.context->id().text(),
                                       core.membership().life_of("ps0"), why));
  for (const Error& error :
       {error_of([&] { return pass.get(), 0; }), error_of([&] { return nodes.context->grad(nodes.x); }),
        error_of([&] { return backward(*nodes.context, nodes.loss), 0; })}) {
    BOOST_TEST((error.code == ErrorCode::context_aborted), error.text());
    BOOST_TEST(error.cause.find("trainer has no memory for 8192 bytes") != std::string::npos, error.text());
  }
  nodes.world.run_for(1s);
  const Error at_owner = error_of([&] { return nodes.context->grad(nodes.w0); });
  BOOST_TEST((at_owner.code == ErrorCode::context_aborted), at_owner.text());
  BOOST_TEST(at_owner.text().find("trainer has no memory for 8192 bytes") != std::string::npos, at_owner.text());
  nodes.check_that_no_step_is_taken();
  nodes.check_that_nothing_is_left();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
