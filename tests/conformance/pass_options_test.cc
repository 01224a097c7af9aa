// Options of backward passes over nodes, and what is known of a pass afterwards.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "actors/dist_optimizer.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(dist_pass_options, *boost::unit_test::fixture<SharedCluster>())

namespace {

using namespace std::chrono_literals;
using Names = std::vector<NodeName>;

Variable vector_of(double first, double second) {
  return Variable(from_values<float>({static_cast<float>(first), static_cast<float>(second)}), RequiresGrad::yes);
}

/// Holds hooks until it is opened. Hooks own it: one whose pass was cancelled may leave it after the test's last pass.
class HookGate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    arrived_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void await_arrival() {
    std::unique_lock lock(mutex_);
    BOOST_REQUIRE(changed_.wait_for(lock, 30s, [this] { return arrived_; }));
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool arrived_ = false;  // guarded by mutex_
  bool open_ = false;     // guarded by mutex_
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(only_inputs_of_a_pass_have_gradients_wherever_leaves_are, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const Leaf here(trainer, x);
  const Leaf a = trainer.remote("p1", &make_leaf, 2, 5.0);
  const Leaf b = trainer.remote("p2", &make_leaf, 2, 7.0);
  const Leaf idle = trainer.remote("p4", &make_leaf, 2, 1.0);
  const DistContext all(trainer);
  const auto loss_in = [&](const DistContext& context) {
    const Variable y = context.rpc_sync("p1", &times_leaf, x, a);
    return sum(context.rpc_sync("p2", &times_leaf, y, b) * x);
  };
  backward(all, loss_in(all));
  const std::vector<Leaf> leaves{here, a, b, idle};
  for (unsigned chosen = 1; chosen < 16; ++chosen) {
    const DistContext context(trainer);
    DistBackwardOptions options;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if ((chosen >> i & 1U) != 0) options.inputs.emplace_back(leaves[i]);
    }
    const Variable loss = loss_in(context);
    backward(context, loss, options);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      const Tensor gradient = context.grad(leaves[i]);
      BOOST_REQUIRE(gradient.defined() == ((chosen >> i & 1U) != 0 && i < 3));
      if (gradient.defined()) BOOST_TEST(same_bytes(gradient, all.grad(leaves[i])));
    }
    backward(context, loss);  // adds to what was found
    for (std::size_t i = 0; i < 3; ++i) {
      const double passes = (chosen >> i & 1U) != 0 ? 2.0 : 1.0;
      BOOST_TEST(same_bytes(context.grad(leaves[i]), all.grad(leaves[i]) * passes));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(inputs_may_be_results_here_and_on_other_nodes, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const Leaf there = context.remote("p1", &product, x, x);
  const Variable fetched = there.to_here(context);
  const Variable middle = fetched * 10.0;
  backward(context, sum(middle * middle), {.inputs = {there, fetched, middle}});
  BOOST_TEST(same_bytes(context.grad(middle), from_values<float>({80.0F, 180.0F})));     // 2 * 10 x^2
  BOOST_TEST(same_bytes(context.grad(fetched), from_values<float>({800.0F, 1800.0F})));  // times 10
  BOOST_TEST(same_bytes(context.grad(there), from_values<float>({800.0F, 1800.0F})));
  BOOST_TEST(!context.grad(x).defined());
  BOOST_TEST(context.gradients().size() == 2U);
}

BOOST_FIXTURE_TEST_CASE(wrong_inputs_are_errors_that_name_them_and_leave_the_context_usable, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const Variable loss = sum(context.rpc_sync("p1", &product, x, x));
  for (const Variable& wrong : {constant_of(2, 1.0), Variable()}) {
    try {
      backward(context, loss, {.inputs = {x, wrong}});
      BOOST_ERROR("a wrong input was taken");
    } catch (const TensorError& error) {
      BOOST_TEST(error.what() == std::string("[backward] input 1 requires no gradient"));
    }
  }
  const Leaf constant = trainer.remote("p2", &constant_of, 2, 1.0);
  const Error there = error_of([&] { backward(context, loss, {.inputs = {x, constant}}); });
  BOOST_TEST(there.code == ErrorCode::bad_argument);
  BOOST_TEST(there.message == "[backward] input " + constant.id().text() + " requires no gradient");
  BOOST_TEST(there.peer == "p2");
  const Leaf failed = trainer.remote("p2", &explode_along, Names{"nowhere"}, x);
  const Error never = error_of([&] { backward(context, loss, {.inputs = {failed}}); });
  BOOST_TEST(never.text().find("nowhere") != std::string::npos, never.text());
  BOOST_TEST(context.gradients().empty());
  backward(context, loss, {.inputs = {x}});
  BOOST_TEST(same_bytes(context.grad(x), x.value() * 2.0));
}

BOOST_FIXTURE_TEST_CASE(released_graph_is_freed_on_every_node_when_the_pass_is_over, OnSharedCluster) {
  constexpr std::int64_t kSize = 1 << 16;  // f32: 256 KiB
  constexpr std::int64_t kBytes = 4 * kSize;
  const Names nodes{"trainer", "p1", "p2"};
  const auto bytes_on = [&](const NodeName& node) { return trainer.rpc_sync(node, &tensor_bytes_here); };
  for (const Graph graph : {Graph::keep, Graph::release}) {
    const Variable x(full({kSize}, 0.5), RequiresGrad::yes);
    const DistContext context(trainer);
    const Variable loss = sum(context.rpc_sync("trainer", &tanh_along, Names{"p1", "p2"}, 16, x));
    std::vector<std::int64_t> before;
    for (const NodeName& node : nodes) before.push_back(bytes_on(node));
    backward(context, loss, {.graph = graph});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t freed = before[i] - bytes_on(nodes[i]);
      // Of 16 saved results one may be the caller's; one gradient has come. What former tests give back meanwhile is
      // smaller than one result.
      if (graph == Graph::release) BOOST_TEST(freed >= 14 * kBytes, nodes[i] << " freed " << freed);
      if (graph == Graph::keep) BOOST_TEST(freed < kBytes, nodes[i] << " freed " << freed);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(pass_over_a_released_graph_is_refused_by_the_node_that_it_reaches, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const std::string why = "[backward] mul: an earlier backward pass released its graph";
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &product, x, x);
  const Leaf there = context.remote("p2", &product, y, y);
  const Variable z = context.rpc_sync("p3", &product, y, y);
  backward(context, {there, ones({2})}, {.graph = Graph::release});
  const Error own = error_of([&] { backward(context, {there, ones({2})}); });
  BOOST_TEST(own.code == ErrorCode::bad_argument);
  BOOST_TEST(own.message == why);
  BOOST_TEST(own.peer == "p2");
  const Error other = error_of([&] { backward(context, {z, ones({2})}); });
  BOOST_TEST(other.message == why);
  BOOST_TEST(other.peer == "p1");
  const Tensor once = context.grad(x);
  BOOST_TEST(same_bytes(once, from_values<float>({32.0F, 108.0F})));       // 4 x^3
  backward(context, {context.rpc_sync("p1", &product, x, x), ones({2})});  // a new graph, an old leaf
  BOOST_TEST(same_bytes(context.grad(x), from_values<float>({36.0F, 114.0F})));
}

BOOST_FIXTURE_TEST_CASE(pass_that_fails_somewhere_releases_no_graph, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &product_along, Names{"p2"}, x, x);
  const Variable bad = context.rpc_sync("p3", &explode_along, Names{"p4"}, y);
  for (int i = 0; i < 3; ++i) {
    const Error error = error_of([&] { backward(context, sum(y + bad), {.graph = Graph::release}); });
    BOOST_TEST(error.message == "[backward] explosive: boom");
    BOOST_TEST(error.peer == "p4");
  }
  backward(context, sum(y), {.graph = Graph::release});
  BOOST_TEST(same_bytes(context.grad(x), x.value() * 2.0));
}

BOOST_FIXTURE_TEST_CASE(cancelled_pass_ends_at_once_and_counts_nowhere, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const Variable y = context.rpc_sync("p1", &product, x, x);
  const Variable z = context.rpc_sync("p2", &product, y, x);
  const auto hold = std::make_shared<HookGate>();
  HookHandle hook = y.register_hook([hold](const Tensor&) { hold->wait(); });  // p2 has done its part by then
  for (const bool by_deadline : {false, true}) {
    const Duration limit = by_deadline ? Duration(20ms) : Duration(60s);
    const Future<void> pass = backward_async(context, sum(z), {.deadline = limit});
    if (!by_deadline) {
      hold->await_arrival();
      BOOST_TEST(pass.cancel());
    }
    const Error error = error_of([&] { pass.get(); });
    BOOST_TEST(error.code == (by_deadline ? ErrorCode::timeout : ErrorCode::cancelled));
    const Future<void> waiting = backward_async(context, sum(z));
    BOOST_TEST(waiting.cancel());
  }
  hook.remove();
  const Future<void> pass = backward_async(context, sum(z));
  hold->open();
  pass.get();
  BOOST_TEST(!pass.cancel());
  BOOST_TEST(same_bytes(context.grad(x), from_values<float>({12.0F, 27.0F})));  // 3 x^2, once
}

BOOST_FIXTURE_TEST_CASE(asynchronous_pass_keeps_its_references_while_it_waits, OnSharedCluster) {
  const Variable x(full({1}, 3.0), RequiresGrad::yes);
  const DistContext context(trainer);
  const Variable y = x * 2.0;
  const auto hold = std::make_shared<HookGate>();
  const HookHandle hook = y.register_hook([hold](const Tensor&) { hold->wait(); });
  const Future<void> first = backward_async(context, sum(y));
  hold->await_arrival();
  const Future<void> second = backward_async(context, context.remote("p1", &product, x, x));  // nothing else has it
  static_cast<void>(context.rpc_sync("p1", &constant_of, 1, 1.0));  // had it been deleted, p1 would know by now
  hold->open();
  first.get();
  second.get();
  BOOST_TEST(same_bytes(context.grad(x), full({1}, 8.0)));  // 2 + 2 x
}

BOOST_FIXTURE_TEST_CASE(asynchronous_pass_starts_at_references_of_its_node_that_will_exist, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const Leaf here = context.remote("trainer", &product, x, x);
  backward_async(context, {here, ones({2})}, {.inputs = {Leaf(trainer, x)}}).get();
  BOOST_TEST(same_bytes(context.grad(x), from_values<float>({4.0F, 6.0F})));
  const Leaf constant = context.remote("trainer", &constant_of, 1, 1.0);
  const Error error = error_of([&] { backward_async(context, constant).get(); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.message == "[backward] the root requires no gradient");
}

BOOST_FIXTURE_TEST_CASE(gradients_of_another_nodes_leaves_come_with_references_to_them, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const Leaf a = trainer.remote("p1", &make_leaf, 2, 5.0);
  const Leaf b = trainer.remote("p1", &make_leaf, 2, 7.0);
  const DistContext context(trainer);
  BOOST_TEST(context.gradients("p1").empty());
  const Variable y = context.rpc_sync("p1", &times_leaf, x, a);
  const Tensor rows = from_values<std::int64_t>({4, 1, 4});
  const Leaf table = trainer.remote("p1", &make_table, 6, 2);
  const Variable read = context.rpc_sync("p1", &sparse_rows_of, table, rows);
  backward(context, sum(context.rpc_sync("p1", &times_leaf, y, b)) + sum(read));
  const std::vector<RemoteGradient> found = context.gradients("p1");
  BOOST_REQUIRE(found.size() == 3U);
  std::vector<Leaf> leaves;
  std::size_t tables = 0;
  for (const RemoteGradient& one : found) {
    leaves.push_back(one.leaf);
    BOOST_TEST(one.leaf.owner() == "p1");
    if (one.rows.defined()) {
      ++tables;
      BOOST_TEST(!one.gradient.defined());
      BOOST_TEST(same_bytes(one.rows.to_dense(), context.grad(table)));
      BOOST_TEST(one.rows.indices().numel() == 2);
    } else {
      BOOST_TEST(same_bytes(one.gradient, context.grad(one.leaf)));
    }
  }
  BOOST_TEST(tables == 1U);
  BOOST_TEST(context.gradients("p2").empty());
  BOOST_TEST(context.gradients("trainer").size() == 1U);
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, leaves);
  optimizer.step(context);
  BOOST_TEST(same_bytes(a.to_here(trainer).value(), full({2}, 5.0) - context.grad(a)));
  BOOST_TEST(same_bytes(b.to_here(trainer).value(), full({2}, 7.0) - context.grad(b)));
}

BOOST_FIXTURE_TEST_CASE(values_that_got_no_gradient_are_reported_with_function_and_nodes, OnSharedCluster) {
  const Variable x = vector_of(2.0, 3.0);
  const DistContext context(trainer);
  const auto report = [&] {
    std::multiset<std::string> lines;
    for (const UnusedBoundary& one : context.unused_boundaries()) lines.insert(one.text());
    return lines;
  };
  BOOST_TEST(error_of([&] { report(); }).code == ErrorCode::bad_argument);
  const Variable unused = context.rpc_sync("p1", &product_along, Names{"p4"}, x, x);
  const Variable fetched = context.remote("p2", &product, x, x).to_here(context);
  const std::vector<Variable> three = context.rpc_sync("p3", &three_of, x);
  const Variable loss = sum(three[1]);
  backward(context, loss);
  std::multiset<std::string> expected{"arguments of rpc product_along, trainer to p1: 1 of 1 values without a gradient",
                                      "arguments of rpc product_along, p1 to p4: 1 of 1 values without a gradient",
                                      "result of rpc product_along, p4 to p1: 1 of 1 values without a gradient",
                                      "result of rpc product_along, p1 to trainer: 1 of 1 values without a gradient",
                                      "arguments of rpc product, trainer to p2: 1 of 1 values without a gradient",
                                      "value of to_here, p2 to trainer: 1 of 1 values without a gradient",
                                      "result of rpc three_of, p3 to trainer: 2 of 3 values without a gradient"};
  BOOST_TEST(report() == expected, boost::test_tools::per_element());
  const Variable bad = context.rpc_sync("p2", &explode_along, Names{}, x);
  BOOST_TEST(error_of([&] { backward(context, sum(bad) + loss); }).message == "[backward] explosive: boom");
  expected.insert("arguments of rpc explode_along, trainer to p2: 1 of 1 values without a gradient");
  expected.insert("result of rpc explode_along, p2 to trainer: 1 of 1 values without a gradient");
  BOOST_TEST(report() == expected, boost::test_tools::per_element());  // the failed pass is forgotten
  backward(context, sum(unused) + sum(fetched) + sum(three[0]) + sum(three[1]) + sum(three[2]));
  BOOST_TEST(report().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
