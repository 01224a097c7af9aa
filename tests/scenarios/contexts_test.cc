#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/scenarios/training_functions.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Three nodes; a parameter of value 2 on ps0 and one of value 3 on ps1, two elements each.
struct Cluster {
  LocalCluster nodes{{"trainer", "ps0", "ps1"}, training_functions()};
  Node& trainer = nodes.node("trainer");
  Parameter w0 = trainer.remote("ps0", &make_parameter, 2, 2.0);
  Parameter w1 = trainer.remote("ps1", &make_parameter, 2, 3.0);
  Variable x{full({2}, 5.0), RequiresGrad::yes};

  [[nodiscard]] std::size_t contexts(const std::string& node) { return nodes.node(node).counts().contexts; }

  /// Returns whether, within 5 s, no node has a context any more.
  [[nodiscard]] bool all_released(const std::vector<std::string>& names) {
    const auto due = std::chrono::steady_clock::now() + 5s;
    for (const std::string& name : names) {
      while (contexts(name) != 0) {
        if (std::chrono::steady_clock::now() > due) return false;
        std::this_thread::yield();
      }
    }
    return true;
  }
};

template <class Exception>
auto says(std::string text) {
  return [text](const Exception& error) { return text == error.what(); };
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(contexts, Cluster)

BOOST_AUTO_TEST_CASE(gradients_are_in_the_context_of_each_owner_and_nowhere_else, *boost::unit_test::label("B-02")) {
  DistContext context(trainer);
  backward(context, sum(context.rpc_sync("ps0", &scale, x, w0)));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 2.0)));                            // d sum(x w) / dx = w
  BOOST_TEST(same_bytes(context.rpc_sync("ps0", &gradient_of, w0), full({2}, 5.0)));  // and / dw = x
  BOOST_TEST(!context.rpc_sync("ps1", &gradient_of, w1).defined());
  DistContext other(trainer);
  BOOST_TEST(!other.grad(x).defined());
}

BOOST_AUTO_TEST_CASE(leaving_a_context_frees_it_on_every_node_that_took_part, *boost::unit_test::label("G-12")) {
  {
    DistContext context(trainer);
    const Variable y = context.rpc_sync("ps0", &scale_at, "ps1", x, w1);  // trainer -> ps0 -> ps1
    BOOST_TEST(contexts("trainer") == 1U);
    BOOST_TEST(contexts("ps0") == 1U);
    BOOST_TEST(contexts("ps1") == 1U);
    backward(context, sum(y));
  }
  BOOST_TEST(all_released({"trainer", "ps0", "ps1"}));
}

BOOST_AUTO_TEST_CASE(a_call_without_gradients_makes_the_context_known_and_leaves_nothing,
                     *boost::unit_test::label("G-06")) {
  {
    DistContext context(trainer);
    static_cast<void>(context.rpc_sync("ps1", &make_constant, 2, 1.0));
    BOOST_TEST(contexts("ps1") == 1U);
  }
  BOOST_TEST(all_released({"trainer", "ps1"}));
}

BOOST_AUTO_TEST_CASE(an_error_in_a_call_leaves_the_context_usable_and_it_is_released,
                     *boost::unit_test::label("G-11")) {
  {
    DistContext context(trainer);
    BOOST_TEST((error_of([&] { context.rpc_sync("ps0", &fail); }).code == ErrorCode::remote_exception));
    backward(context, sum(context.rpc_sync("ps0", &scale, x, w0)));
    BOOST_TEST(context.grad(x).defined());
  }
  BOOST_TEST(all_released({"trainer", "ps0"}));
}

BOOST_AUTO_TEST_CASE(without_any_call_gradients_are_those_of_the_local_graph, *boost::unit_test::label("B-13")) {
  DistContext context(trainer);
  backward(context, sum(mul(x, x)));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 10.0)));  // 2 x
}

BOOST_AUTO_TEST_CASE(the_gradient_of_several_roots_is_the_sum, *boost::unit_test::label("B-10")) {
  DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("ps0", &scale, x, w0));
  const Variable z = sum(context.rpc_sync("ps1", &scale, x, w1));
  backward(context, {y, z});
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 5.0)));  // 2 + 3
}

BOOST_AUTO_TEST_CASE(two_passes_on_one_context_add_up, *boost::unit_test::label("B-22")) {
  DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("ps0", &scale, x, w0));
  backward(context, y);
  backward(context, y);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 4.0)));
  BOOST_TEST(same_bytes(context.rpc_sync("ps0", &gradient_of, w0), full({2}, 10.0)));
}

BOOST_AUTO_TEST_CASE(a_backward_inside_a_served_function_adds_to_the_callers_context,
                     *boost::unit_test::label("B-23")) {
  DistContext context(trainer);
  backward(context, sum(context.rpc_sync("ps0", &scale_after_backward, x, w0)));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 4.0)));  // one use there, one use here
}

BOOST_AUTO_TEST_CASE(hooks_run_on_every_node_of_a_pass_and_see_its_sums) {
  DistContext context(trainer);
  int calls = 0;
  x.register_hook([&](const Tensor& gradient) { calls += same_bytes(gradient, full({2}, 23.0)) ? 1 : 100; });
  Tensor final_gradient;
  x.register_post_accumulate_grad_hook(
      [&](const Variable&, const Tensor& gradient) { final_gradient = gradient.clone(); });
  const Variable there = context.rpc_sync("ps0", &scale_with_hooks, x, w0);
  backward(context, sum(there + x * 3.0));
  BOOST_TEST(calls == 1);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 23.0)));  // 10 * 2 + 3
  BOOST_TEST(same_bytes(final_gradient, full({2}, 23.0)));
  BOOST_TEST(same_bytes(context.rpc_sync("ps0", &gradient_of, w0), full({2}, 50.0)));  // 10 * 5
}

BOOST_AUTO_TEST_CASE(a_hook_that_throws_fails_the_pass_with_its_words) {
  DistContext context(trainer);
  const Variable y = context.rpc_sync("ps0", &scale, x, w0);
  x.register_hook([](const Tensor&) { throw std::runtime_error("too hot"); });
  const Error error = error_of([&] { backward(context, sum(y)); });
  BOOST_TEST((error.code == ErrorCode::remote_exception));
  BOOST_TEST(error.message == "[backward] hook on leaf: too hot");
}

// Each would wait for the other's end.
BOOST_AUTO_TEST_CASE(a_hook_cannot_wait_for_another_pass_of_its_node_on_the_same_context) {
  DistContext context(trainer);
  DistContext other(trainer);
  const Scope patient = context.with({.deadline = Deadline::while_peer_lives()});
  const Variable y = sum(context.rpc_sync("ps0", &scale, x, w0));
  const Variable here = sum(x * 3.0);
  const DistContext* nested = &context;
  x.register_hook([&](const Tensor&) {
    if (const DistContext* in = std::exchange(nested, nullptr)) backward(*in, here);
  });
  const Error error = error_of([&] { backward(patient, y); });
  BOOST_TEST((error.code == ErrorCode::remote_exception));
  BOOST_TEST(error.message ==
             "[backward] hook on leaf: [backward] the caller is part of a pass of this node on the same context: each "
             "would wait for the other's end");
  nested = &other;
  backward(patient, y);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 2.0)));
  BOOST_TEST(same_bytes(other.grad(x), full({2}, 3.0)));
}

BOOST_AUTO_TEST_CASE(a_thousand_passes_on_one_graph_neither_fail_nor_pile_up, *boost::unit_test::label("B-24")) {
  DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("ps0", &scale, x, w0));
  for (int pass = 0; pass < 1000; ++pass) backward(context, y);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 2000.0)));
}

BOOST_AUTO_TEST_CASE(failing_passes_name_the_node_and_leave_nothing_behind,
                     *boost::unit_test::label("B-16") * boost::unit_test::label("B-25")) {
  DistContext context(trainer);
  const Variable y = context.rpc_sync("ps0", &scale, x, w0);
  const Variable bad = sum(context.rpc_sync("ps1", &explode_in_backward, y));
  for (int pass = 0; pass < 50; ++pass) {
    const Error error = error_of([&] { backward(context, bad); });
    BOOST_TEST((error.code == ErrorCode::remote_exception));
    BOOST_TEST(error.peer == "ps1");
    BOOST_TEST(error.message == "[backward] explosive: boom");
    BOOST_TEST(error.operation == "backward");
  }
  for (int pass = 0; pass < 49; ++pass) backward(context, sum(y));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 98.0)));
}

BOOST_AUTO_TEST_CASE(wrong_roots_are_refused_with_exact_texts, *boost::unit_test::label("B-15")) {
  DistContext context(trainer);
  BOOST_CHECK_EXCEPTION(backward(context, std::vector<Root>{}), TensorError,
                        says<TensorError>("[backward] there are no roots"));
  BOOST_CHECK_EXCEPTION(backward(context, Variable(ones({1}))), TensorError,
                        says<TensorError>("[backward] the root requires no gradient"));
  BOOST_CHECK_EXCEPTION(
      backward(context, x), TensorError,
      says<TensorError>("[backward] a root without a given gradient needs exactly one element: f32 (2)"));
  BOOST_CHECK_EXCEPTION(
      backward(trainer, sum(x)), std::logic_error,
      says<std::logic_error>("[backward] the scope has no autograd context: call through a DistContext"));
  const Error constant = error_of([&] { backward(context, trainer.remote("ps0", &make_constant, 1, 1.0)); });
  BOOST_TEST((constant.code == ErrorCode::bad_argument));
  BOOST_TEST(constant.peer == "ps0");
  BOOST_TEST(constant.message == "[backward] the root requires no gradient");
}

BOOST_AUTO_TEST_CASE(an_unknown_context_is_an_error_with_its_id, *boost::unit_test::label("B-14")) {
  std::optional<ContextId> id;
  {
    const DistContext context(trainer);
    id = context.id();
  }
  auto& all = trainer.core().contexts();
  detail::PassPlan plan;
  plan.roots.local = {sum(x)};
  const Promise<void> done(trainer);
  all.backward(*id, std::move(plan), {}, done);
  const Error error = error_of([&] { done.future().get(); });
  BOOST_TEST((error.code == ErrorCode::context_aborted));
  BOOST_TEST(error.message == "context " + id->text() + " does not exist or was released");
  BOOST_TEST(error_of([&] { static_cast<void>(all.gradients(*id).get()); }).message == error.message);
}

BOOST_AUTO_TEST_CASE(calls_through_a_scope_whose_context_has_ended_are_refused_and_do_not_bring_it_back) {
  std::optional<Scope> left;
  {
    const DistContext context(trainer);
    left = context;
  }
  for (int call = 0; call < 10; ++call) {
    const Error error = error_of([&] { static_cast<void>(left->rpc_sync("ps0", &scale_at, "ps1", x, w1)); });
    BOOST_TEST((error.code == ErrorCode::context_aborted));
  }
  BOOST_TEST(all_released({"trainer", "ps0", "ps1"}));
}

BOOST_AUTO_TEST_CASE(backward_from_a_reference_at_its_owner_doubles_with_a_repeat, *boost::unit_test::label("O-35")) {
  DistContext context(trainer);
  const Parameter here(trainer, sum(mul(x, x)));
  backward(context, here);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 10.0)));
  backward(context, here);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 20.0)));
}

BOOST_AUTO_TEST_CASE(backward_from_a_reference_elsewhere_runs_through_its_owner, *boost::unit_test::label("O-36")) {
  DistContext context(trainer);
  const Parameter w = trainer.remote("ps0", &make_parameter, 2, 3.0);
  const Parameter scaled = context.remote("ps0", &scale, x, w);
  const Parameter total = context.remote("ps0", &total_of, scaled);
  backward(context, total);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 3.0)));
  BOOST_TEST(same_bytes(context.rpc_sync("ps0", &gradient_of, w), x.value()));
  backward(context, total);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 6.0)));
  const Error error = error_of([&] { backward(context, trainer.remote("ps0", &make_parameter, 2, 3.0)); });
  BOOST_TEST(error.message.find("one element") != std::string::npos, error.text());
}

BOOST_AUTO_TEST_CASE(a_reference_here_or_there_is_a_root) {
  DistContext context(trainer);
  const Parameter here(trainer, sum(mul(x, x)));
  const Parameter there = trainer.remote("ps0", &make_parameter, 1, 7.0);
  backward(context, {here, there});
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 10.0)));
  BOOST_TEST(same_bytes(context.rpc_sync("ps0", &gradient_of, there), full({1}, 1.0)));
}

BOOST_AUTO_TEST_CASE(passes_and_gradients_leave_kept_copies_up_to_date) {
  DistContext context(trainer);
  const RRef<Variable> y = context.remote("ps0", &scale, x, w0);
  const auto copy_of_y = y.cached(trainer);
  const auto copy_of_w = w0.cached(trainer);
  backward(context, Root(y, full({2}, 3.0)));
  BOOST_TEST(same_bytes(context.grad(w0), full({2}, 15.0)));  // 5 * 3
  BOOST_TEST(y.cached(trainer) == copy_of_y);
  BOOST_TEST(w0.cached(trainer) == copy_of_w);
}

BOOST_AUTO_TEST_CASE(threads_with_contexts_of_their_own_do_not_meet, *boost::unit_test::label("B-21")) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 20; ++thread) {
    threads.emplace_back([&, thread] {
      DistContext context(trainer);
      const Variable mine(full({2}, thread), RequiresGrad::yes);
      Variable y = mine;
      for (int hop = 0; hop < 4; ++hop) y = context.rpc_sync("ps0", &scale, y, w0);
      backward(context, sum(y));
      // d sum(x w^4) / dx = 16, / dw = 4 x w^3 = 32 x
      const bool same = same_bytes(context.grad(mine), full({2}, 16.0)) &&
                        same_bytes(context.rpc_sync("ps0", &gradient_of, w0), full({2}, 32.0 * thread));
      right += same ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(right == 20);
  BOOST_TEST(all_released({"trainer", "ps0"}));
}

BOOST_AUTO_TEST_CASE(the_death_of_a_node_that_took_part_fails_backward_with_its_name,
                     *boost::unit_test::label("B-18") * boost::unit_test::label("fault-F28")) {
  DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("ps0", &scale_at, "ps1", x, w1));
  nodes.kill("ps1");
  const Error error = error_of([&] { backward(context, y); });
  BOOST_TEST((error.code == ErrorCode::context_aborted));
  BOOST_TEST(error.peer == "ps1");
  BOOST_TEST(!error.cause.empty());
  BOOST_TEST((error_of([&] { static_cast<void>(context.grad(x)); }).code == ErrorCode::context_aborted));
}

BOOST_AUTO_TEST_CASE(backward_from_or_to_a_reference_that_cannot_be_used_says_why_and_asks_nobody) {
  const Parameter here(trainer, Variable(ones({1}), RequiresGrad::yes));
  nodes.kill("ps0");
  BOOST_TEST((error_of([&] { static_cast<void>(w0.to_here(trainer)); }).code == ErrorCode::owner_died));
  const Variable loss = sum(mul(x, x));
  {
    DistContext context(trainer);
    const auto fails = [](auto pass) { BOOST_TEST((error_of(pass).code == ErrorCode::owner_died)); };
    fails([&] { backward(context, w0); });
    fails([&] { backward(context, Root(w0, ones({2}))); });
    fails([&] { backward(context, loss, {.inputs = {w0}}); });
    fails([&] { backward_async(context, Root(here), {.inputs = {w0}}).get(); });
    backward(context, loss, {.inputs = {w1}});  // the context is whole
  }
  DistContext of_another_node(nodes.node("ps1"));
  BOOST_TEST((error_of([&] { backward(of_another_node, w1); }).code == ErrorCode::bad_argument));
}

BOOST_AUTO_TEST_CASE(the_death_of_its_creator_ends_a_context_on_every_node, *boost::unit_test::label("fault-F28")) {
  DistContext context(trainer);
  static_cast<void>(context.rpc_sync("ps0", &scale_at, "ps1", x, w1));
  BOOST_TEST(contexts("ps1") == 1U);
  nodes.kill("trainer");
  BOOST_TEST(all_released({"ps0", "ps1"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
