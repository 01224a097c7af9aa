#include "actors/contexts/graph_work.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/checkpoint.h"
#include "autograd/custom_op.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(graph_work)

namespace {

const Variable kLeaf(ones({2, 2}), RequiresGrad::yes);

bool is_short(const std::vector<Variable>& roots) {
  GraphWork work;
  work.add(MarkGraph{{}, roots, {}});
  return work.is_short();
}

class Ignoring final : public GradientReducer {
 public:
  void begin(const PassId&) override {}
  void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override {}
  void finish(const PassId&, Gradients, Done) override {}
  void fail(const PassId&, const Error&) override {}
};

class Deferring final : public GradientReducer {
 public:
  void begin(const PassId&) override {}
  void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override {}
  void finish(const PassId&, Gradients, Done) override {}
  void fail(const PassId&, const Error&) override {}
  [[nodiscard]] bool defers_leaf_hooks() const override { return true; }
};

class NoSink final : public GradientSink {
 public:
  void deliver(const std::shared_ptr<const RecvFn>&, std::vector<Tensor>) override {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(steps_over_a_small_graph_are_short) {
  BOOST_TEST(is_short({}));
  BOOST_TEST(is_short({sum(tanh(matmul(kLeaf, kLeaf)) * kLeaf)}));
}

BOOST_AUTO_TEST_CASE(steps_over_large_values_or_many_vertices_are_not_short_whatever_has_the_elements) {
  const Variable large(ones({40, 40}), RequiresGrad::yes);
  BOOST_TEST(!is_short({sum(large)}));
  const Variable constant(ones({40, 40}));
  BOOST_TEST(!is_short({sum(kLeaf.view({4}).select(0, 0) * constant)}));
  BOOST_TEST(is_short({kLeaf.view({4}).select(0, 0)}));
  Variable long_chain = sum(kLeaf);
  for (int i = 0; i < 1000; ++i) long_chain = tanh(long_chain);
  BOOST_TEST(!is_short({long_chain}));
}

BOOST_AUTO_TEST_CASE(steps_of_one_pass_are_short_together_only) {
  const Variable middle(ones({20, 20}), RequiresGrad::yes);
  GraphWork work;
  for (const bool is_short : {true, true, false}) {
    work.add(MarkGraph{{}, {sum(middle)}, {}});
    BOOST_TEST(work.is_short() == is_short);
  }
}

BOOST_AUTO_TEST_CASE(a_long_pass_is_short_step_by_step_until_something_in_it_is_not) {
  const Variable middle(ones({20, 20}), RequiresGrad::yes);
  const Variable large(ones({40, 40}), RequiresGrad::yes);
  for (const bool has_large : {false, true}) {
    GraphWork work;
    NoSink sink;
    const auto is_short_until_run = [&](GraphStep step) {
      work.add(std::move(step));
      const bool is_short = work.is_short();
      work.run(sink);
      BOOST_TEST(!work.failure.has_value(), (work.failure ? work.failure->text() : ""));
      return is_short;
    };
    std::vector<std::shared_ptr<const SendFn>> sends;
    for (int i = 0; i < 10; ++i) {
      sends.push_back(SendFn::make(std::vector{tanh(middle)}));
      BOOST_TEST(is_short_until_run(MarkGraph{{sends.back()}, {}, std::vector<BoundaryId>{}}));
    }
    if (has_large) {
      sends.push_back(SendFn::make(std::vector{tanh(large)}));
      BOOST_TEST(!is_short_until_run(MarkGraph{{sends.back()}, {}, std::vector<BoundaryId>{}}));
    }
    // After something long, what is short may depend on hooks that came meanwhile.
    for (int i = 0; i < 10; ++i) {
      BOOST_TEST(is_short_until_run(FeedSend{sends[static_cast<std::size_t>(i)], {ones({20, 20})}}) == !has_large);
    }
    if (has_large) BOOST_TEST(!is_short_until_run(FeedSend{sends.back(), {ones({40, 40})}}));
    BOOST_TEST(work.finished);
    BOOST_TEST(!is_short_until_run(ReleaseGraph{}));  // of all
  }
}

BOOST_AUTO_TEST_CASE(steps_that_run_user_code_are_not_short) {
  const auto ours = [](const std::vector<Tensor>& gradients, std::span<const Edge>) { return gradients; };
  BOOST_TEST(!is_short({sum(custom_op("ours", {kLeaf.value()}, std::vector{kLeaf}, ours).front())}));
  BOOST_TEST(!is_short({sum(checkpoint([](const Variable& x) { return tanh(x); }, kLeaf))}));
  const Variable hooked = tanh(kLeaf);
  const Variable root = sum(hooked * kLeaf);
  BOOST_TEST(is_short({root}));
  const HookHandle handle = hooked.register_hook([](const Tensor&) {});
  BOOST_TEST(!is_short({root}));
  handle.remove();
  BOOST_TEST(is_short({root}));
  GraphWork reduced;
  reduced.reducers.push_back(std::make_shared<Ignoring>());
  BOOST_TEST(!reduced.is_short());
}

BOOST_AUTO_TEST_CASE(hook_that_comes_after_short_steps_were_found_to_be_short_is_too_late_for_their_pass) {
  for (const bool is_long : {false, true}) {
    const Variable leaf(ones({is_long ? 2000 : 2}), RequiresGrad::yes);
    const Variable hooked = tanh(leaf);
    const Variable root = sum(hooked);
    GraphWork work;
    work.add(MarkGraph{{}, {root}, std::vector<BoundaryId>{}});
    work.add(StartRoots{{root}});
    int calls = 0;
    const HookHandle handle = hooked.register_hook([&](const Tensor&) { ++calls; });
    NoSink sink;
    work.run(sink);
    BOOST_TEST(!work.failure.has_value(), (work.failure ? work.failure->text() : ""));
    BOOST_TEST(work.finished);
    BOOST_TEST(calls == (is_long ? 1 : 0));
  }
}

BOOST_AUTO_TEST_CASE(reducer_that_defers_hooks_of_leaves_leaves_those_of_operations) {
  const Variable leaf(ones({2}), RequiresGrad::yes);
  const Variable middle = tanh(leaf);
  const Variable root = sum(middle);
  std::vector<std::string> calls;
  static_cast<void>(leaf.register_hook([&](const Tensor&) { calls.emplace_back("leaf"); }));
  static_cast<void>(leaf.register_post_accumulate_grad_hook([&](auto&&...) { calls.emplace_back("end"); }));
  static_cast<void>(middle.register_hook([&](const Tensor&) { calls.emplace_back("operation"); }));
  using Calls = std::vector<std::string>;
  for (const bool defers : {false, true}) {
    GraphWork work;
    if (defers) work.reducers = {std::make_shared<Ignoring>(), std::make_shared<Deferring>()};
    work.add(MarkGraph{{}, {root}, std::vector<BoundaryId>{}});
    work.add(StartRoots{{root}});
    NoSink sink;
    work.run(sink);
    BOOST_TEST(work.gradients.of(leaf).defined());
    BOOST_TEST(std::exchange(calls, {}) == (defers ? Calls{"operation"} : Calls{"operation", "leaf", "end"}));
  }
}

BOOST_AUTO_TEST_CASE(steps_for_which_a_device_has_no_memory_fail_with_a_code_of_its_own,
                     *boost::unit_test::label("fault-F20")) {
  const auto full = [](const std::vector<Tensor>&, std::span<const Edge>) -> std::vector<Tensor> {
    throw DeviceMemoryError("[allocate] 4096 bytes on cuda:0: out of memory");
  };
  const Variable root = sum(custom_op("ours", {kLeaf.value()}, std::vector{kLeaf}, full).front());
  GraphWork work;
  work.add(MarkGraph{{}, {root}, std::vector<BoundaryId>{}});
  work.add(StartRoots{{root}});
  NoSink sink;
  work.run(sink);
  BOOST_TEST_REQUIRE(work.failure.has_value());
  BOOST_TEST((work.failure->code == ErrorCode::device_out_of_memory));
  BOOST_TEST(work.failure->message == "[backward] ours: [allocate] 4096 bytes on cuda:0: out of memory");
}

BOOST_AUTO_TEST_CASE(steps_from_a_boundary_count_what_was_sent) {
  const Variable large(ones({40, 40}), RequiresGrad::yes);
  for (const auto& [sent, is_short] : {std::pair{kLeaf, true}, {large, false}}) {
    GraphWork work;
    work.add(MarkGraph{{SendFn::make(std::vector{sent})}, {}, {}});
    BOOST_TEST(work.is_short() == is_short);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
