// Contexts of distributed autograd: who takes part, which boundaries a call leaves, and what remains of them.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/debug_info.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(dist_contexts, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;
using namespace std::chrono_literals;
using Names = std::vector<NodeName>;

Variable parameter(double value) { return Variable(full({2}, value), RequiresGrad::yes); }
Variable constant(double value) { return Variable(full({2}, value)); }

std::int64_t sends_on(const DistContext& context, const NodeName& node) { return context.rpc_sync(node, &sends_here); }

/// The value of that reference, as it is fetched in the context, or the result of the call itself.
const std::vector<std::string> kWays{"call", "remote"};

template <class F, class... Args>
Variable run(const std::string& way, const DistContext& context, const NodeName& node, const F& f,
             const Args&... args) {
  return way == "call" ? context.rpc_sync(node, f, args...) : context.remote(node, f, args...).to_here(context);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(ids_are_unique_name_their_creator_and_end_with_the_context, OnSharedCluster, *label("G-01")) {
  std::set<ContextId> ids;
  std::optional<Scope> left;
  for (int i = 0; i < 100; ++i) {
    const DistContext context(trainer);
    BOOST_TEST(context.id().creator == "trainer");
    ids.insert(context.id());
    left = context;
  }
  BOOST_TEST(ids.size() == 100U);
  const Error ended = error_of([&] { return gradients(*left).size(); });
  BOOST_TEST(ended.code == ErrorCode::context_aborted);
  BOOST_TEST(ended.message.find(ids.rbegin()->text()) != std::string::npos, ended.text());
}

BOOST_FIXTURE_TEST_CASE(two_contexts_of_one_thread_do_not_mix, OnSharedCluster, *label("G-02")) {
  const Variable x = parameter(5.0);
  const DistContext outer(trainer);
  const Variable y = outer.rpc_sync("p1", &product, x, constant(2.0));
  {
    const DistContext inner(trainer);
    const Variable z = inner.rpc_sync("p1", &product, x, constant(3.0));
    backward(inner, sum(z));
    BOOST_TEST(same_bytes(inner.grad(x), full({2}, 3.0)));
    BOOST_TEST(!outer.grad(x).defined());
  }
  backward(outer, sum(y));
  BOOST_TEST(same_bytes(outer.grad(x), full({2}, 2.0)));
}

BOOST_FIXTURE_TEST_CASE(call_leaves_one_boundary_each_way, OnSharedCluster, *label("G-03")) {
  for (const std::string& way : kWays) {
    const Variable a = parameter(5.0);
    const Variable b = parameter(7.0);
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &product, a, b);
    BOOST_TEST(arrived_as(y, constant(0.0)) == "received 0, constant, apart");
    BOOST_TEST(context.rpc_sync("trainer", &sends_here) == 1);
    BOOST_TEST(sends_on(context, "p1") == 1);
    BOOST_TEST(context.rpc_sync("p1", &arrived_as, a, b) == "received 0, received 1");
    backward(context, sum(y));  // through both ends
    BOOST_TEST(same_bytes(context.grad(a), full({2}, 7.0)));
    BOOST_TEST(same_bytes(context.grad(b), full({2}, 5.0)));
  }
}

BOOST_FIXTURE_TEST_CASE(call_with_a_table_that_has_sparse_gradients_leaves_one_boundary_each_way, OnSharedCluster,
                        *label("G-03")) {
  const Tensor indices = from_values<std::int64_t>({2, 0, 2});
  for (const std::string& way : kWays) {
    const Variable table = make_table(3, 2);
    const DistContext context(trainer);
    const Variable rows = run(way, context, "p1", &sparse_rows, table, indices);
    BOOST_TEST(arrived_as(rows, constant(0.0)) == "received 0, constant, apart");
    BOOST_TEST(sends_on(context, "trainer") == 1);
    BOOST_TEST(sends_on(context, "p1") == 1);
    backward(context, sum(rows));  // through both ends
    BOOST_TEST(same_bytes(context.grad(table), from_values<float>({1, 1, 0, 0, 2, 2}, {3, 2})));
  }
}

BOOST_FIXTURE_TEST_CASE(nested_call_leaves_two_in_the_middle_and_one_at_its_ends, OnSharedCluster, *label("G-04")) {
  for (const std::string& way : kWays) {
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &product_along, Names{"p2"}, parameter(5.0), parameter(7.0));
    BOOST_TEST(arrived_as(y, constant(0.0)) == "received 0, constant, apart");
    BOOST_TEST(sends_on(context, "trainer") == 1);
    BOOST_TEST(sends_on(context, "p1") == 2);
    BOOST_TEST(sends_on(context, "p2") == 1);
  }
}

BOOST_FIXTURE_TEST_CASE(nested_call_back_to_its_first_caller_leaves_two_there, OnSharedCluster, *label("G-05")) {
  for (const std::string& way : kWays) {
    const Variable a = parameter(5.0);
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &product_along, Names{"trainer"}, a, parameter(7.0));
    BOOST_TEST(sends_on(context, "trainer") == 2);
    BOOST_TEST(sends_on(context, "p1") == 2);
    backward(context, sum(y));
    BOOST_TEST(same_bytes(context.grad(a), full({2}, 7.0)));
  }
}

BOOST_FIXTURE_TEST_CASE(call_without_gradients_leaves_no_boundary_and_makes_the_context_known, OnSharedCluster,
                        *label("G-06")) {
  for (const std::string& way : kWays) {
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &product, constant(5.0), constant(7.0));
    BOOST_TEST(!y.requires_grad());
    BOOST_TEST(sends_on(context, "trainer") == 0);
    BOOST_TEST(sends_on(context, "p1") == 0);  // -1 if the context were unknown
    BOOST_TEST(cluster.counts("p1").contexts == 1U);
  }
}

BOOST_FIXTURE_TEST_CASE(result_alone_may_need_a_gradient, OnSharedCluster, *label("G-07")) {
  for (const std::string& way : kWays) {
    const Leaf w = trainer.remote("p1", &make_leaf, 2, 3.0);
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &times_leaf, constant(5.0), w);
    BOOST_TEST(y.requires_grad());
    BOOST_TEST(sends_on(context, "trainer") == 0);
    BOOST_TEST(sends_on(context, "p1") == 1);
    backward(context, sum(y));
    BOOST_TEST(same_bytes(context.rpc_sync("p1", &gradient_here, w), full({2}, 5.0)));
  }
}

BOOST_FIXTURE_TEST_CASE(list_has_a_boundary_for_those_that_need_a_gradient, OnSharedCluster, *label("G-08")) {
  for (const std::string& way : kWays) {
    const std::vector<Variable> rows{constant(1.0), parameter(2.0), constant(3.0), parameter(4.0)};
    const DistContext context(trainer);
    const Variable y = run(way, context, "p1", &stacked, rows);
    BOOST_TEST(same_bytes(y.value(), stacked(rows).value()));
    backward(context, sum(y * y));
    BOOST_TEST(context.gradients().size() == 2U);
    BOOST_TEST(same_bytes(context.grad(rows[1]), full({2}, 4.0)));
    BOOST_TEST(same_bytes(context.grad(rows[3]), full({2}, 8.0)));
  }
}

BOOST_FIXTURE_TEST_CASE(gradient_goes_to_the_operand_that_needs_it, OnSharedCluster, *label("G-09")) {
  for (const bool first : {true, false}) {
    const Variable a = first ? parameter(5.0) : constant(5.0);
    const Variable b = first ? constant(7.0) : parameter(7.0);
    const DistContext context(trainer);
    BOOST_TEST(context.rpc_sync("p1", &arrived_as, a, b) ==
               (first ? "received 0, constant, apart" : "constant, received 0, apart"));
    backward(context, sum(context.rpc_sync("p1", &product, a, b)));
    BOOST_TEST(context.gradients().size() == 1U);
    BOOST_TEST(same_bytes(context.grad(first ? a : b), full({2}, first ? 7.0 : 5.0)));
  }
}

BOOST_FIXTURE_TEST_CASE(every_called_node_takes_part_gradients_or_not, OnSharedCluster, *label("G-10")) {
  const DistContext context(trainer);
  for (const char* node : {"p1", "p2", "p4"}) static_cast<void>(context.rpc_sync(node, &constant_of, 2, 1.0));
  const StackInfo stack = trainer.stack();
  BOOST_REQUIRE(stack.contexts.size() == 1U);
  BOOST_TEST((stack.contexts[0].peers == Names{"p1", "p2", "p4"}));
  BOOST_TEST(stack.contexts[0].context == context.id().text());
}

BOOST_FIXTURE_TEST_CASE(failed_call_leaves_the_context_usable, OnSharedCluster, *label("G-11")) {
  const Variable x = parameter(5.0);
  const DistContext context(trainer);
  BOOST_TEST(error_of([&] { return context.rpc_sync("p1", &throw_text, "no"), 0; }).message == "no");
  backward(context, sum(context.rpc_sync("p1", &product, x, constant(2.0))));
  BOOST_TEST(same_bytes(context.grad(x), full({2}, 2.0)));
}

BOOST_FIXTURE_TEST_CASE(end_of_a_context_frees_it_wherever_it_went, OnSharedCluster, *label("G-12")) {
  const std::vector<std::function<void(const DistContext&)>> uses{
      [](const DistContext& context) { context.rpc_sync("p1", &product, parameter(1.0), parameter(2.0)); },
      [](const DistContext& context) { context.rpc_sync("p1", &product, constant(1.0), constant(2.0)); },
      [](const DistContext& context) { context.rpc_sync("p1", &square, 3); },
      [](const DistContext& context) {
        context.rpc_sync("p1", &product_along, Names{"p2", "p3", "p1"}, parameter(1.0), parameter(2.0));
      }};
  for (const auto& use : uses) {
    {
      const DistContext context(trainer);
      use(context);
      BOOST_TEST(cluster.counts("p1").contexts == 1U);
    }
    for (const NodeName& node : cluster.others())
      cluster.await(node, [](const Counts& counts) { return counts.contexts == 0; });
  }
}

BOOST_FIXTURE_TEST_CASE(debug_info_counts_contexts_and_passes, OnSharedCluster, *label("G-14")) {
  {
    std::vector<std::unique_ptr<DistContext>> contexts;
    for (std::size_t open = 1; open <= 4; ++open) {
      contexts.push_back(std::make_unique<DistContext>(trainer));
      const Variable x = parameter(5.0);
      const Variable y = contexts.back()->rpc_sync("p1", &product, x, constant(2.0));
      backward(*contexts.back(), sum(y));
      BOOST_TEST(trainer.debug_info().contexts == open);
      BOOST_TEST(trainer.debug_info().backward_passes == 0U);
      BOOST_TEST(cluster.counts("p1").contexts == open);
    }
  }
  BOOST_TEST(trainer.debug_info().contexts == 0U);
}

// p1 makes p2 a participant while the context's end arrives at p1. No gradient returns that would show p1 what p2 has.
BOOST_FIXTURE_TEST_CASE(context_that_ends_while_participants_are_added_stays_on_none, OnSharedCluster) {
  constexpr int kContexts = 4000;
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < kContexts; ++i) {
    {
      const DistContext context(trainer);
      calls.push_back(context.rpc_async("p1", &square_on_and_one, "p2", 3));
      const auto due = std::chrono::steady_clock::now() + std::chrono::microseconds(i % 400);
      while (std::chrono::steady_clock::now() < due) std::this_thread::yield();  // the end meets each part of the way
    }
    if (calls.size() == 8) {
      for (const auto& call : calls) BOOST_TEST(call.get_for(10s).has_value());
      calls.clear();
    }
  }
  for (const NodeName& node : cluster.others())
    cluster.await(node, [](const Counts& counts) { return counts.contexts == 0; });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
