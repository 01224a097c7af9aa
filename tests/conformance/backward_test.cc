// Backward passes over nodes: gradients equal those of the same functions called here.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(dist_backward)

namespace {

using boost::unit_test::label;
using Names = std::vector<NodeName>;

Variable parameter(const Shape& shape, std::uint64_t seed, DType dtype = DType::f32) {
  Generator generator(seed);
  return Variable(randn(shape, generator).to(dtype), RequiresGrad::yes);
}

/// Checks that `f` gives the variables `leaves` the same gradients when it runs here, by a call, by a later one, and
/// when its value is fetched from its owner: on another node and on this one.
template <class F, class... Args>
void check_gradients(const Node& trainer, const std::vector<Variable>& leaves, const F& f, const Args&... args) {
  const Gradients expected = backward(sum(f(args...)));
  const std::vector<std::function<Variable(const DistContext&, const NodeName&)>> ways{
      [&](const DistContext& context, const NodeName& node) { return context.rpc_sync(node, f, args...); },
      [&](const DistContext& context, const NodeName& node) { return context.rpc_async(node, f, args...).get(); },
      [&](const DistContext& context, const NodeName& node) {
        return context.remote(node, f, args...).to_here(context);
      }};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (const NodeName node : {"p1", "trainer"}) {
      BOOST_TEST_CONTEXT("way " << way << " on " << node) {
        const DistContext context(trainer);
        backward(context, sum(ways[way](context, node)));
        BOOST_TEST(context.gradients().size() == expected.size());
        for (const Variable& leaf : leaves) {
          const Tensor gradient = context.grad(leaf);
          BOOST_REQUIRE(gradient.defined() == expected.of(leaf).defined());
          if (gradient.defined()) BOOST_TEST(same_bytes(gradient, expected.of(leaf)));
        }
      }
    }
  }
}

Tensor row_indices() { return from_values<std::int64_t>({4, 1, 4}); }

/// Checks that the context has the gradient of the 6 x 2 table on `node` as rows, for the sum of the rows that
/// row_indices() names, times `factor`.
void check_rows(const DistContext& context, const NodeName& node, const Leaf& table, float factor) {
  const std::vector<RemoteGradient> found = context.gradients(node);
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST_REQUIRE(found[0].rows.defined());
  BOOST_TEST(!found[0].gradient.defined());
  BOOST_TEST(found[0].rows.indices().numel() == 2);  // 1 and 4, which is there twice
  const Tensor expected = from_values<float>({0, 0, factor, factor, 0, 0, 0, 0, 2 * factor, 2 * factor, 0, 0}, {6, 2});
  BOOST_TEST(same_bytes(found[0].rows.to_dense(), expected));
  BOOST_TEST(same_bytes(context.grad(table), expected));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shared, *boost::unit_test::fixture<SharedCluster>())

BOOST_FIXTURE_TEST_CASE(one_call_to_another_node_or_to_itself, OnSharedCluster, *label("B-01")) {
  const Variable a = parameter({3, 3}, 1);
  const Variable b = parameter({3, 3}, 2);
  check_gradients(trainer, {a, b}, &product, a, b);
}

BOOST_FIXTURE_TEST_CASE(gradients_are_in_the_context_and_a_local_pass_has_its_own, OnSharedCluster, *label("B-02")) {
  const Variable a = parameter({2}, 1);
  const Variable b = parameter({2}, 2);
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &product, a, b);
  backward(context, sum(y));
  const Gradients local = backward(sum(a * 3.0));
  BOOST_TEST(same_bytes(context.grad(a), b.value()));
  BOOST_TEST(same_bytes(local.of(a), full({2}, 3.0)));
  BOOST_TEST(!DistContext(trainer).grad(a).defined());
}

BOOST_FIXTURE_TEST_CASE(fetched_references_also_nested_ones, OnSharedCluster, *label("B-03")) {
  const Leaf a = trainer.remote("p1", &make_leaf, 2, 3.0);
  const Leaf b = trainer.remote("p2", &make_leaf, 2, 5.0);
  const Leaf c(trainer, make_leaf(2, 7.0));
  const DistContext context(trainer);
  const Variable fetched = a.to_here(context) * b.to_here(context);
  const Variable elsewhere = context.rpc_sync("p3", &product_of_leaves, a, c);
  const RRef<Leaf> nested = context.rpc_sync("p4", &wrapped, b);
  const Variable inner = context.rpc_sync("p3", &unwrapped, nested);
  backward(context, sum(fetched + elsewhere + inner));
  BOOST_TEST(same_bytes(context.rpc_sync("p1", &gradient_here, a), full({2}, 12.0)));  // b + c
  BOOST_TEST(same_bytes(context.rpc_sync("p2", &gradient_here, b), full({2}, 4.0)));   // a + 1
  BOOST_TEST(same_bytes(context.rpc_sync("trainer", &gradient_here, c), full({2}, 3.0)));
}

BOOST_FIXTURE_TEST_CASE(trainer_and_server_whoever_made_the_parameter, OnSharedCluster, *label("B-04")) {
  for (const NodeName owner : {"p1", "trainer"}) {
    for (const NodeName worker : {"p1", "p2"}) {
      const Leaf w = trainer.remote(owner, &make_leaf, 2, 3.0);
      const Variable x = parameter({2}, 4);
      const DistContext context(trainer);
      backward(context, sum(x * context.rpc_sync(worker, &product_of_leaves, w, w)));
      BOOST_TEST(same_bytes(context.grad(x), full({2}, 9.0)));
      BOOST_TEST(allclose(context.rpc_sync(owner, &gradient_here, w), x.value() * 6.0));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(several_round_trips_through_different_nodes, OnSharedCluster, *label("B-05")) {
  const Variable x = parameter({3}, 1);
  const Variable y = parameter({3}, 2);
  Variable local = x;
  for (int i = 0; i < 4; ++i) local = tanh(local * y);
  const Gradients expected = backward(sum(local));
  const DistContext context(trainer);
  Variable z = x;
  for (const char* node : {"p1", "p2", "p3", "p1"}) z = tanh(context.rpc_sync(node, &product, z, y));
  backward(context, sum(z));
  BOOST_TEST(same_bytes(context.grad(x), expected.of(x)));
  BOOST_TEST(allclose(context.grad(y), expected.of(y)));
}

BOOST_FIXTURE_TEST_CASE(operands_of_different_shapes, OnSharedCluster, *label("B-06")) {
  const Variable a = parameter({4, 6}, 1);
  const Variable b = parameter({6, 5}, 2);
  const Variable c = parameter({5, 7}, 3);
  check_gradients(trainer, {a, b, c}, &dot_of, a, b, c);
}

BOOST_FIXTURE_TEST_CASE(unused_rows_of_a_result_have_gradient_0, OnSharedCluster, *label("B-07")) {
  const std::vector<Variable> rows{parameter({3}, 1), parameter({3}, 2), parameter({3}, 3)};
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &stacked, rows);
  backward(context, sum(y[0] * y[1]));
  BOOST_TEST(same_bytes(context.grad(rows[0]), rows[1].value()));
  BOOST_TEST(same_bytes(context.grad(rows[1]), rows[0].value()));
  BOOST_TEST(same_bytes(context.grad(rows[2]), zeros({3})));
}

BOOST_FIXTURE_TEST_CASE(some_of_several_results_are_used, OnSharedCluster, *label("B-08")) {
  const Variable x = parameter({3}, 1);
  const std::vector<Tensor> expected{ones({3}), full({3}, 2.0), x.value() * 2.0};
  for (std::size_t used = 0; used < 3; ++used) {
    const DistContext context(trainer);
    backward(context, sum(context.rpc_sync("p1", &three_of, x)[used]));
    BOOST_TEST(same_bytes(context.grad(x), expected[used]));
  }
}

BOOST_FIXTURE_TEST_CASE(result_of_a_whole_call_is_unused, OnSharedCluster, *label("B-09")) {
  const Variable x = parameter({3}, 1);
  const Variable y = parameter({3}, 2);
  const DistContext context(trainer);
  const Variable unused = context.rpc_sync("p1", &product, x, y);
  const Variable also_unused = context.rpc_sync("p2", &product, unused, y);
  backward(context, sum(context.rpc_sync("p3", &product, x, y)));
  BOOST_TEST(same_bytes(context.grad(x), y.value()));
}

BOOST_FIXTURE_TEST_CASE(gradient_of_several_roots_is_the_sum, OnSharedCluster, *label("B-10")) {
  const Variable x = parameter({3}, 1);
  const DistContext context(trainer);
  const Variable twice = sum(context.rpc_sync("p1", &product, x, constant_of(3, 2.0)));
  const Variable thrice = sum(context.rpc_sync("p2", &product, x, constant_of(3, 3.0)));
  backward(context, {twice, thrice, sum(x)});
  BOOST_TEST(same_bytes(context.grad(x), full({3}, 6.0)));
}

BOOST_FIXTURE_TEST_CASE(roots_start_with_the_gradients_that_they_are_given, OnSharedCluster) {
  const Variable x = parameter({3, 2}, 1);
  const Variable y = parameter({3, 2}, 2);
  const Tensor first = parameter({3, 2}, 3).value();
  const Tensor second = parameter({3, 2}, 4).value();
  const std::vector<Variable> roots{busy_product(x, y), product(y, y)};
  const Gradients expected = backward(roots, std::vector<Tensor>{first, second});
  for (const NodeName node : {"p1", "trainer"}) {
    const DistContext context(trainer);
    const Leaf there = context.remote(node, &busy_product, x, y);
    backward(context, {{there, first}, {context.rpc_sync("p2", &product, y, y), second}});
    BOOST_TEST(same_bytes(context.grad(x), expected.of(x)));
    BOOST_TEST(allclose(context.grad(y), expected.of(y)));
  }
  const DistContext context(trainer);
  const auto text = [&](const Root& root) {
    try {
      backward(context, root);
      return std::string("done");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  const std::string why = "[backward] the gradient of a root does not fit: f32 (2) instead of f32 (3, 2)";
  BOOST_TEST(text({product(x, y), ones({2})}) == why);
  BOOST_TEST(text({context.remote("p1", &product, x, y), ones({2})}).find(why) != std::string::npos);
  BOOST_TEST(text({constant_of(3, 1.0), ones({3})}) == "[backward] the root requires no gradient");
}

BOOST_FIXTURE_TEST_CASE(gradient_of_a_leaf_is_read_through_its_reference, OnSharedCluster) {
  const Leaf a = trainer.remote("p1", &make_leaf, 2, 3.0);
  const Leaf b = trainer.remote("p2", &make_leaf, 2, 5.0);
  const Leaf c(trainer, make_leaf(2, 7.0));
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p3", &product_of_leaves, a, c)));
  BOOST_TEST(same_bytes(context.grad(a), full({2}, 7.0)));
  BOOST_TEST(!context.grad(b).defined());
  BOOST_TEST(same_bytes(context.grad(c), full({2}, 3.0)));
}

BOOST_FIXTURE_TEST_CASE(different_dtypes_in_one_graph, OnSharedCluster, *label("B-11")) {
  const Variable a = parameter({3}, 1, DType::f32);
  const Variable b = parameter({3}, 2, DType::f64);
  check_gradients(trainer, {a, b}, &in_f64, a, b);
}

BOOST_FIXTURE_TEST_CASE(functions_with_dead_and_repeated_operations_and_nested_ones, OnSharedCluster, *label("B-12")) {
  const Variable a = parameter({4}, 1);
  const Variable b = parameter({4}, 2);
  check_gradients(trainer, {a, b}, &busy_product, a, b);
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &product_along, Names{"p2", "p3", "p1", "p4"}, a, b)));
  BOOST_TEST(same_bytes(context.grad(a), b.value()));
  BOOST_TEST(same_bytes(context.grad(b), a.value()));
}

BOOST_FIXTURE_TEST_CASE(graph_without_a_call, OnSharedCluster, *label("B-13")) {
  const Variable x = parameter({3}, 1);
  const DistContext context(trainer);
  backward(context, sum(x * x));
  BOOST_TEST(same_bytes(context.grad(x), x.value() * 2.0));
}

BOOST_FIXTURE_TEST_CASE(context_that_is_over_is_an_error_with_its_id, OnSharedCluster, *label("B-14")) {
  std::optional<Scope> left;
  std::string id;
  {
    const DistContext context(trainer);
    left = context;
    id = context.id().text();
  }
  const Error error = error_of([&] { backward(*left, sum(parameter({3}, 1))); });
  BOOST_TEST(error.code == ErrorCode::context_aborted);
  BOOST_TEST(error.message.find(id) != std::string::npos, error.text());
}

BOOST_FIXTURE_TEST_CASE(wrong_roots_are_errors_of_their_own, OnSharedCluster, *label("B-15")) {
  const DistContext context(trainer);
  const auto text = [](const std::function<void()>& call) {
    try {
      call();
      return std::string("done");
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  BOOST_TEST(text([&] { backward(context, std::vector<Root>{}); }) == "[backward] there are no roots");
  BOOST_TEST(text([&] { backward(context, constant_of(1, 1.0)); }) == "[backward] the root requires no gradient");
  BOOST_TEST(text([&] { backward(context, parameter({2}, 1)); }) ==
             "[backward] a root without a given gradient needs exactly one element: f32 (2)");
  BOOST_TEST(text([&] { backward(context, Variable()); }) == "[requires_grad] variable is undefined");
  BOOST_TEST(text([&] { backward(trainer, sum(parameter({2}, 1))); }) ==
             "[backward] the scope has no autograd context: call through a DistContext");
  const Error there = error_of([&] { backward(context, trainer.remote("p1", &constant_of, 1, 1.0)); });
  BOOST_TEST(there.code == ErrorCode::bad_argument);
  BOOST_TEST(there.message == "[backward] the root requires no gradient");
}

BOOST_FIXTURE_TEST_CASE(exception_deep_in_a_chain_names_its_node, OnSharedCluster, *label("B-16") * label("B-17")) {
  for (const Names& path : {Names{}, Names{"p2"}, Names{"p2", "p3", "p1", "p4"}}) {
    const DistContext context(trainer);
    const Variable x = parameter({3}, 1);
    const Variable y = context.rpc_sync("p1", &explode_along, path, x);
    const Error error = error_of([&] { backward(context, sum(y * 2.0)); });
    BOOST_TEST(error.code == ErrorCode::remote_exception);
    BOOST_TEST(error.peer == (path.empty() ? "p1" : path.back()));
    BOOST_TEST(error.message == "[backward] explosive: boom");
    BOOST_TEST(!context.grad(x).defined());
  }
}

BOOST_FIXTURE_TEST_CASE(context_that_ends_during_a_pass_fails_it, OnSharedCluster, *label("B-20")) {
  const Variable x = parameter({3}, 1);
  auto context = std::make_unique<DistContext>(trainer);
  const Scope left = *context;
  const Variable y = context->rpc_sync("p1", &product, tanh(x), constant_of(3, 2.0));
  const Variable middle = context->rpc_sync("p2", &product, y, constant_of(3, 2.0));
  middle.register_hook([&](const Tensor&) { context.reset(); });
  const Error error = error_of([&] { backward(left, sum(middle)); });
  BOOST_TEST(error.code == ErrorCode::context_aborted);
}

BOOST_FIXTURE_TEST_CASE(twenty_threads_on_each_of_three_nodes_have_contexts_of_their_own, OnSharedCluster,
                        *label("B-21")) {
  std::vector<Future<std::int64_t>> right;
  for (const char* node : {"p1", "p2", "p3"}) right.push_back(trainer.rpc_async(node, &train_in_threads, "p4", 20));
  for (const auto& one : right) BOOST_TEST(one.get() == 20);
}

BOOST_FIXTURE_TEST_CASE(two_passes_add_up, OnSharedCluster, *label("B-22")) {
  const Variable x = parameter({3}, 1);
  const DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("p1", &product, x, constant_of(3, 2.0)));
  backward(context, y);
  backward(context, y);
  BOOST_TEST(same_bytes(context.grad(x), full({3}, 4.0)));
}

BOOST_FIXTURE_TEST_CASE(pass_inside_a_served_function_adds_to_the_callers, OnSharedCluster, *label("B-23")) {
  const Variable x = parameter({3}, 1);
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &product_after_backward, x, constant_of(3, 2.0))));
  BOOST_TEST(same_bytes(context.grad(x), full({3}, 4.0)));
}

BOOST_FIXTURE_TEST_CASE(two_passes_over_rows_of_a_table_add_up_as_rows, OnSharedCluster, *label("B-22")) {
  const Leaf table = trainer.remote("p1", &make_table, 6, 2);
  const DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("p1", &sparse_rows_of, table, row_indices()));
  backward(context, y);
  backward(context, y);
  check_rows(context, "p1", table, 2.0F);
}

BOOST_FIXTURE_TEST_CASE(pass_over_rows_inside_a_served_function_adds_to_the_callers_as_rows, OnSharedCluster,
                        *label("B-23")) {
  const Leaf table = trainer.remote("p1", &make_table, 6, 2);
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &sparse_rows_after_backward, table, row_indices()) * 3.0));
  check_rows(context, "p1", table, 4.0F);  // 1 inside, 3 outside
}

BOOST_FIXTURE_TEST_CASE(thousand_passes_on_one_graph, OnSharedCluster, *label("B-24")) {
  constexpr std::int64_t kSize = 1000;
  const Variable x = parameter({kSize}, 1);
  const DistContext context(trainer);
  const Variable y = sum(context.rpc_sync("p1", &product, x, constant_of(kSize, 2.0)));
  const auto bytes = [&] {
    return std::max(tensor_bytes_here(), trainer.rpc_sync("p1", &tensor_bytes_here));  // of the process that has more
  };
  for (int pass = 0; pass < 100; ++pass) backward(context, y);
  const std::int64_t early = bytes();
  for (int pass = 100; pass < 1000; ++pass) backward(context, y);
  // A few tensors of the last pass may not be freed yet; one for each pass would be 3600 kB.
  BOOST_TEST(bytes() - early < 16 * kSize * 4);
  BOOST_TEST(same_bytes(context.grad(x), full({kSize}, 2000.0)));
}

BOOST_FIXTURE_TEST_CASE(context_recovers_from_fifty_failed_passes, OnSharedCluster, *label("B-25")) {
  const Variable x = parameter({2}, 1);
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &product, x, constant_of(2, 2.0));
  const Variable bad = context.rpc_sync("p2", &explode_along, Names{}, y);
  for (int pass = 0; pass < 50; ++pass) {
    BOOST_TEST(error_of([&] { backward(context, sum(bad)); }).code == ErrorCode::remote_exception);
  }
  for (int pass = 0; pass < 49; ++pass) backward(context, sum(y));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 98.0)));
}

BOOST_FIXTURE_TEST_CASE(hooks_change_a_gradient_once_wherever_they_are, OnSharedCluster, *label("B-26")) {
  const Variable a = parameter({2}, 1);
  const Variable b = parameter({2}, 2);
  std::atomic<int> calls = 0;
  a.register_hook([&](const Tensor& gradient) {
    ++calls;
    return gradient * 3.0;
  });
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &product_with_hooks, a, b)));
  BOOST_TEST(calls == 1);
  BOOST_TEST(allclose(context.grad(a), b.value() * 30.0));
  BOOST_TEST(allclose(context.grad(b), a.value() * 10.0));
}

BOOST_FIXTURE_TEST_CASE(hook_may_wait_for_calls_while_its_caller_waits_for_the_pass, OnSharedCluster, *label("B-26")) {
  const Variable a = parameter({2}, 1);
  const Variable b = parameter({2}, 2);
  const std::thread::id caller = std::this_thread::get_id();
  a.register_hook([&](const Tensor& gradient) {
    BOOST_TEST((std::this_thread::get_id() != caller));
    return trainer.rpc_sync("p1", &product, Variable(gradient), Variable(full({2}, 3.0))).value();
  });
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &product, a, b)));
  BOOST_TEST(allclose(context.grad(a), b.value() * 3.0));
}

BOOST_FIXTURE_TEST_CASE(anomaly_guard_of_a_thread_that_waits_for_a_pass_checks_no_operation_made_before_it,
                        OnSharedCluster) {
  const Variable x(zeros({2}), RequiresGrad::yes);
  const DistContext context(trainer);
  const Variable root = sum(sqrt(context.rpc_sync("p1", &product, x, Variable(ones({2})))));
  const AnomalyGuard guard;
  backward(context, root);
  BOOST_TEST(same_bytes(context.grad(x), full({2}, std::numeric_limits<double>::infinity())));
}

BOOST_FIXTURE_TEST_CASE(hook_on_a_parameter_of_another_node_runs_at_its_owner, OnSharedCluster, *label("B-26")) {
  const Leaf w = trainer.remote("p1", &make_leaf, 2, 5.0);
  w.rpc_sync(trainer, &multiply_gradients, 10.0);
  const Variable x = parameter({2}, 1);
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &times_leaf, x, w);
  backward(context, sum(context.rpc_sync("p2", &product, y, w.to_here(context))));
  // y w = x w w
  BOOST_TEST(allclose(context.grad(w), x.value() * 100.0));
  BOOST_TEST(allclose(context.grad(x), full({2}, 25.0)));
}

BOOST_FIXTURE_TEST_CASE(hooks_on_final_gradients_are_called_once_each, OnSharedCluster, *label("B-27")) {
  std::vector<Variable> leaves;
  std::atomic<int> calls = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    leaves.push_back(parameter({2}, i));
    leaves.back().register_post_accumulate_grad_hook([&](const Variable&, const Tensor&) { ++calls; });
  }
  const DistContext context(trainer);
  Variable y = context.rpc_sync("p1", &product, leaves[0], leaves[1]);
  y = context.rpc_sync("p2", &product, y + leaves[0], leaves[2]);
  y = context.rpc_sync("p1", &product, y * leaves[3], leaves[4]);
  backward(context, sum(y));
  BOOST_TEST(calls == 5);
}

BOOST_FIXTURE_TEST_CASE(context_goes_on_with_a_task_that_waited, OnSharedCluster, *label("B-29")) {
  const Variable a = parameter({3}, 1);
  const Variable b = parameter({3}, 2);
  const DistContext context(trainer);
  backward(context, sum(context.rpc_sync("p1", &product_after_wait, "p2", a, b)));
  BOOST_TEST(same_bytes(context.grad(a), b.value()));
  BOOST_TEST(same_bytes(context.grad(b), a.value()));
}

BOOST_FIXTURE_TEST_CASE(rows_of_a_table_by_indices_without_gradients, OnSharedCluster, *label("B-30")) {
  const Variable table = parameter({6, 3}, 1);
  const Tensor indices = from_values<std::int64_t>({4, 1, 4, 0});
  check_gradients(trainer, {table}, &rows_of, table, indices);
  check_gradients(trainer, {table}, &sparse_rows, table, indices);  // the rows cross a boundary, as a table
}

BOOST_FIXTURE_TEST_CASE(sparse_gradients_of_a_table_at_its_owner_stay_rows, OnSharedCluster, *label("B-30")) {
  for (const NodeName owner : {"p1", "trainer"}) {
    const Leaf table = trainer.remote(owner, &make_table, 6, 2);
    const DistContext context(trainer);
    backward(context, sum(context.rpc_sync(owner, &sparse_rows_of, table, row_indices()) * 2.0));
    check_rows(context, owner, table, 2.0F);
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(death_of_half_of_the_nodes_fails_the_pass_with_a_name, *label("B-18")) {
  TestCluster cluster({"p1", "p2", "p3", "p4"});
  const Variable x = parameter({3}, 1);
  const DistContext context(cluster.trainer());
  Variable y = x;
  for (const char* node : {"p1", "p2", "p3", "p4"}) y = context.rpc_sync(node, &product, y, constant_of(3, 2.0));
  for (const char* node : {"p2", "p4"}) cluster.kill(node);
  const Error error = error_of([&] { backward(context, sum(y)); });
  BOOST_TEST(error.code == ErrorCode::context_aborted);
  BOOST_TEST((error.text().find("p2") != std::string::npos || error.text().find("p4") != std::string::npos),
             error.text());
}

BOOST_AUTO_TEST_CASE(death_of_the_last_node_of_a_chain_fails_the_first_callers_pass, *label("B-19")) {
  TestCluster cluster({"p1", "p2"});
  const Variable x = parameter({3}, 1);
  const DistContext context(cluster.trainer());
  const Variable y = context.rpc_sync("p1", &product_along, Names{"p2"}, x, constant_of(3, 2.0));
  cluster.kill("p2");
  const Error error = error_of([&] { backward(context, sum(y)); });
  BOOST_TEST(error.code == ErrorCode::context_aborted);
  BOOST_TEST(error.text().find("p2") != std::string::npos, error.text());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
