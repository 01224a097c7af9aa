#include "actors/parallel/reducer.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "node/gloo_collective.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/actors/parallel/alone.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

/// A stage with one parameter, whose replica is the only member of its group. Its passes are no rounds until it is
/// told.
class HeldStage {
 public:
  explicit HeldStage(const Scope& scope)
      : reducer_(std::make_shared<detail::Reducer>(
            scope, std::make_unique<detail::Rounds>(scope, std::make_shared<Alone>(), nn::NamedVariables{{"w", w_}},
                                                    nn::NamedVariables{}, DataParallelOptions{}))) {
    reducer_->hold();
  }

  [[nodiscard]] Variable forward(Scope& scope, const Variable& x) {
    done_ = std::make_shared<Done>();
    reducer_->attach(scope);
    scope.state().node->contexts().attach(*scope.state().context, done_);
    return x * w_;
  }
  /// Returns when this stage has done its part of the pass of the last forward.
  void await_part() const { done_->is_done.get_future().wait(); }
  void stop_holding() { reducer_->stop_holding(); }
  [[nodiscard]] Tensor gradient(Scope& scope) const { return gradients(scope).of(w_); }

 private:
  /// Comes after the reducer.
  struct Done final : detail::GradientReducer {
    void begin(const PassId&) override {}
    void found(const PassId&, const Variable&, const Tensor&, const SparseTensor&) override {}
    void finish(const PassId&, Gradients gradients, GradientReducer::Done done) override {
      done(std::move(gradients));
      is_done.set_value();
    }
    void fail(const PassId&, const Error&) override {}
    std::promise<void> is_done;
  };

  Variable w_{ones({2}), RequiresGrad::yes};
  std::shared_ptr<detail::Reducer> reducer_;
  std::shared_ptr<Done> done_;
};

HeldStage make_held_stage(Scope& scope) { return HeldStage(scope); }

}  // namespace
}  // namespace troupe::testing

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(reducers)

using Names = std::vector<std::string>;
using troupe::testing::error_of;
using troupe::testing::HeldStage;
using troupe::testing::make_held_stage;

namespace {

/// The only member of a group, with one parameter. Its passes are made by hand.
struct Member {
  /// Performs the graph's part of a pass. The returned result comes with the pass's round.
  std::future<Result<Gradients>> finish(const PassId& pass) const {
    const auto result = std::make_shared<std::promise<Result<Gradients>>>();
    reducer->begin(pass);
    reducer->found(pass, w, ones({2}), {});
    reducer->found_all(pass);
    reducer->finish(pass, {}, [result](Result<Gradients> gradients) { result->set_value(std::move(gradients)); });
    return result->get_future();
  }

  /// Performs a pass that fails when its graph is done and its round is in sum number `sum`. Returns its result.
  Result<Gradients> fail_in_sum(const PassId& pass, std::ptrdiff_t sum) const {
    std::promise<void> finished;
    members->on_sum = [&, done = finished.get_future().share()] {
      if (std::ranges::count(members->operations, "all_reduce") != sum) return;
      done.wait();
      reducer->fail(pass, why);
    };
    auto result = finish(pass);
    finished.set_value();
    result.wait();
    members->on_sum = nullptr;
    return result.get();
  }

  LocalCluster cluster{{"trainer"}, {}};
  Node& node = cluster.node("trainer");
  const Variable w{zeros({2}), RequiresGrad::yes};
  const std::shared_ptr<troupe::testing::Alone> members = std::make_shared<troupe::testing::Alone>();
  const std::shared_ptr<Reducer> reducer =
      std::make_shared<Reducer>(node, std::make_unique<Rounds>(node, members, nn::NamedVariables{{"w", w}},
                                                               nn::NamedVariables{}, DataParallelOptions{}));
  const PassId own{"trainer", 0, 1};
  const PassId of_driver{"driver", 0, 1};
  const Error why{.code = ErrorCode::timeout, .message = "not complete in time"};
};

/// An operation that says when its saved tensors are released, and waits there.
class HeldBack final : public GradFn {
 public:
  HeldBack(Edge next, std::promise<void>& releasing, std::shared_future<void> may_go)
      : GradFn("held back", VertexKind::operation, {std::move(next)}), releasing_(releasing), may_go_(may_go) {}
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override { return gradients; }

 private:
  void drop_saved() const noexcept override {
    releasing_.set_value();
    may_go_.wait();
  }

  std::promise<void>& releasing_;
  const std::shared_future<void> may_go_;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_pass_that_fails_while_it_waits_for_its_round_fails_the_round, Member) {
  const Result<Gradients> result = fail_in_sum(own, 2);
  BOOST_TEST_REQUIRE(!result.ok());
  BOOST_TEST(result.error().message.ends_with("no member has gradients of this round: " + why.text()));
  BOOST_TEST(
      members->operations == (Names{"all_reduce", "all_reduce", "broadcast", "all_reduce", "all_gather", "all_gather"}),
      boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_pass_that_fails_after_its_round_has_told_its_success_ends_the_collective, Member) {
  static_cast<void>(fail_in_sum(own, 3));  // the end of a round that makes the plan
  BOOST_TEST(members->operations.back() == "fail");
  members->operations.clear();
  static_cast<void>(fail_in_sum(of_driver, 1));  // only that pass fails
  BOOST_TEST(members->operations.back() == "all_reduce");
}

BOOST_FIXTURE_TEST_CASE(a_pass_that_fails_when_its_round_is_over_ends_the_collective_only_if_it_began_here, Member) {
  BOOST_TEST(finish(of_driver).get().ok());
  reducer->fail(of_driver, why);  // also if the context ends
  BOOST_TEST(members->operations.back() == "all_reduce");
  BOOST_TEST(finish(own).get().ok());
  reducer->fail(own, why);
  BOOST_TEST(members->operations.back() == "fail");
}

BOOST_FIXTURE_TEST_CASE(a_pass_that_fails_when_the_round_of_a_later_one_is_over_ends_the_collective, Member) {
  const PassId later{"trainer", 0, 2};
  BOOST_TEST(finish(own).get().ok());
  BOOST_TEST(finish(later).get().ok());
  reducer->complete(later);
  BOOST_TEST(members->operations.back() != "fail");
  reducer->fail(own, why);
  BOOST_TEST(members->operations.back() == "fail");
}

BOOST_FIXTURE_TEST_CASE(a_pass_that_fails_here_at_last_leaves_nothing_for_the_next_round, Member) {
  reducer->hold();
  for (const PassId& pass : {own, of_driver}) {
    BOOST_TEST(finish(pass).get().ok());
    reducer->fail(pass, why);
  }
  reducer->stop_holding();
  const Result<Gradients> all = finish({"trainer", 0, 2}).get();
  BOOST_TEST_REQUIRE(all.ok());
  BOOST_TEST(same_bytes(all.value().of(w), ones({2})));
}

BOOST_FIXTURE_TEST_CASE(a_pass_of_another_node_whose_context_ends_has_left_its_gradients_for_the_next_round, Member) {
  reducer->hold();
  for (const PassId& pass : {own, of_driver}) {
    BOOST_TEST(finish(pass).get().ok());
    reducer->fail(pass, {.code = ErrorCode::context_aborted, .message = "the context was released"});
  }
  reducer->stop_holding();
  const Result<Gradients> all = finish({"trainer", 0, 2}).get();
  BOOST_TEST_REQUIRE(all.ok());
  BOOST_TEST(same_bytes(all.value().of(w), full({2}, 2.0)));  // of the driver's pass and of this one
}

BOOST_FIXTURE_TEST_CASE(of_many_passes_that_may_yet_fail_the_oldest_count, Member) {
  reducer->hold();
  for (std::uint64_t serial = 1; serial <= 20; ++serial) BOOST_TEST(finish({"driver", 0, serial}).get().ok());
  for (std::uint64_t serial = 1; serial <= 20; ++serial) reducer->fail({"driver", 0, serial}, why);
  reducer->stop_holding();
  const Result<Gradients> all = finish(own).get();
  BOOST_TEST_REQUIRE(all.ok());
  BOOST_TEST(same_bytes(all.value().of(w), full({2}, 13.0)));  // of 20 - 8 passes and of this one
}

BOOST_FIXTURE_TEST_CASE(a_pass_that_is_cancelled_while_it_releases_its_graph_counts_for_no_member, Member) {
  const auto cancelled_pass = [&] {
    std::promise<void> releasing;
    std::promise<void> may_go;
    const Variable sum_of_w = sum(w);
    const auto held_back =
        std::make_shared<const HeldBack>(sum_of_w.gradient_edge(), releasing, may_go.get_future().share());
    DistContext context(node);
    reducer->attach(context);
    const Future<void> pass =
        backward_async(context, Variable::output_of({held_back, 0}, sum_of_w.value()), {.graph = Graph::release});
    releasing.get_future().wait();
    pass.cancel();
    BOOST_TEST(gradients(context).of(w).defined() == false);  // in turn: after the cancellation
    may_go.set_value();
  };
  reducer->hold();
  cancelled_pass();
  reducer->stop_holding();
  const Result<Gradients> next = finish(own).get();
  BOOST_TEST_REQUIRE(next.ok());
  BOOST_TEST(same_bytes(next.value().of(w), ones({2})));
  cancelled_pass();
  BOOST_TEST(members->operations.back() == "fail");
}

BOOST_AUTO_TEST_CASE(a_pass_that_fails_at_its_driver_leaves_nothing_for_the_next_round_of_a_stage) {
  LocalCluster cluster({"driver", "stage"}, {{"make_held_stage", &make_held_stage},
                                             {"HeldStage::forward", &HeldStage::forward},
                                             {"HeldStage::await_part", &HeldStage::await_part},
                                             {"HeldStage::stop_holding", &HeldStage::stop_holding},
                                             {"HeldStage::gradient", &HeldStage::gradient}});
  Node& driver = cluster.node("driver");
  const RRef<HeldStage> stage = driver.remote("stage", &make_held_stage);
  const Variable x(full({2}, 3.0), RequiresGrad::yes);
  /// Returns the stage's gradient.
  const auto pass = [&] {
    DistContext context(driver);
    backward(context, sum(stage.rpc_sync(context, &HeldStage::forward, x)));
    return stage.rpc_sync(context, &HeldStage::gradient);
  };
  HookHandle hook = x.register_hook([&](const Tensor&) -> Tensor {
    stage.rpc_sync(driver, &HeldStage::await_part);
    throw std::runtime_error("the hook fails");
  });
  BOOST_TEST(error_of([&] { return pass(); }).text().find("the hook fails") != std::string::npos);
  hook.remove();
  BOOST_TEST(!pass().defined());  // the same batch again
  stage.rpc_sync(driver, &HeldStage::stop_holding);
  BOOST_TEST(same_bytes(pass(), full({2}, 6.0)));  // of two batches
}

BOOST_FIXTURE_TEST_CASE(what_is_held_when_all_members_have_joined_is_dropped, Member) {
  reducer->hold();
  for (const PassId& pass : {of_driver, own}) BOOST_TEST(finish(pass).get().ok());
  reducer->stop_holding();
  reducer->join();
  const Result<Gradients> all = finish({"trainer", 0, 2}).get();
  BOOST_TEST_REQUIRE(all.ok());
  BOOST_TEST(same_bytes(all.value().of(w), ones({2})));
}

BOOST_AUTO_TEST_CASE(what_is_held_when_a_member_joins_goes_into_the_first_round_that_does_not_fail) {
  LocalCluster cluster({"a", "b"}, {});
  const Group group(Names{"a", "b"});
  /// Performs two epochs with passes of these factors. Returns the gradients of the last pass of each.
  const auto train = [&](Node& node, const std::vector<std::vector<double>>& epochs) {
    const Variable w(zeros({2}), RequiresGrad::yes);
    auto rounds = std::make_unique<Rounds>(node, gloo_collective(node, group), nn::NamedVariables{{"w", w}},
                                           nn::NamedVariables{}, DataParallelOptions{});
    const auto reducer = std::make_shared<Reducer>(node, std::move(rounds));
    const auto pass = [&](double factor) {
      DistContext context(node);
      reducer->attach(context);
      backward(context, sum(w * factor));
      return context.grad(w);
    };
    std::vector<Tensor> last;
    for (const std::vector<double>& factors : epochs) {
      last.emplace_back();
      reducer->hold();
      static_cast<void>(pass(factors[0]));
      reducer->stop_holding();
      for (std::size_t i = 1; i < factors.size(); ++i) {
        HookHandle hook = w.register_hook([&](const Tensor& gradient) -> Tensor {
          if (factors[i] < 0.0) throw std::runtime_error("the hook fails");
          return gradient;
        });
        if (factors[i] < 0.0) {
          static_cast<void>(error_of([&] { return pass(factors[i]); }));
        } else {
          last.back() = pass(factors[i]);
        }
        hook.remove();
      }
      reducer->join();
    }
    return last;
  };
  auto other = std::async(std::launch::async, [&] { return train(cluster.node("b"), {{100.0}, {0.0, 1.0}}); });
  const std::vector<Tensor> here = train(cluster.node("a"), {{20.0, -1.0, 2.0}, {0.0, 1.0}});
  BOOST_TEST(same_bytes(here[0], full({2}, 61.0)));  // (20 + 2 + 100) / 2
  BOOST_TEST(same_bytes(here[1], ones({2})));
  BOOST_TEST(same_bytes(other.get()[1], ones({2})));
}

BOOST_AUTO_TEST_CASE(a_pass_that_runs_out_of_time_before_the_slowest_member_comes_fails_on_every_member) {
  for (const bool has_plan : {false, true}) {
    LocalCluster cluster({"a", "b"}, {});
    const Group group(Names{"a", "b"});
    const Variable w(zeros({2}), RequiresGrad::yes);
    const auto joining = [&](Node& node) {
      auto rounds = std::make_unique<Rounds>(node, gloo_collective(node, group), nn::NamedVariables{{"w", w}},
                                             nn::NamedVariables{}, DataParallelOptions{});
      return std::make_shared<Reducer>(node, std::move(rounds));
    };
    /// Returns the text of the Error of a pass; "" if it has none.
    const auto pass = [&](const Scope& scope, const std::shared_ptr<Reducer>& reducer) {
      DistContext context(scope);
      reducer->attach(context);
      try {
        backward(context, sum(w * 1.0));
      } catch (const RemoteError& failed) {
        return failed.error().text();
      }
      return std::string();
    };
    Node& a = cluster.node("a");
    Node& b = cluster.node("b");
    auto other = std::async(std::launch::async, [&] { return joining(b); });
    const std::shared_ptr<Reducer> fast = joining(a);
    const std::shared_ptr<Reducer> slow = other.get();
    if (has_plan) {
      auto first = std::async(std::launch::async, [&] { return pass(b, slow); });
      BOOST_TEST(pass(a, fast) == "");
      BOOST_TEST(first.get() == "");
    }
    const std::string why = pass(a.with({.deadline = std::chrono::milliseconds(50)}), fast);
    BOOST_TEST(why.find("not complete in time") != std::string::npos, why);
    const std::string told = pass(b, slow);
    BOOST_TEST(told.find("the backward pass of a failed") != std::string::npos, told);
  }
}

BOOST_AUTO_TEST_CASE(members_may_call_two_modules_of_one_pass_in_different_orders) {
  LocalCluster cluster({"a", "b"}, {});
  const Group group(Names{"a", "b"});
  const Variable v(zeros({2}), RequiresGrad::yes);
  const Variable w(zeros({2}), RequiresGrad::yes);
  /// Performs a pass through replicas of `first` and `second`. Returns their gradients.
  const auto pass = [&](Node& node, const Variable& first, const Variable& second) {
    std::vector<std::shared_ptr<Reducer>> reducers;
    for (const Variable& variable : {v, w}) {
      auto rounds = std::make_unique<Rounds>(node, gloo_collective(node, group), nn::NamedVariables{{"w", variable}},
                                             nn::NamedVariables{}, DataParallelOptions{});
      reducers.push_back(std::make_shared<Reducer>(node, std::move(rounds)));
    }
    if (first.id() == w.id()) std::swap(reducers[0], reducers[1]);
    DistContext context(node.with({.deadline = std::chrono::seconds(10)}));
    for (const auto& reducer : reducers) reducer->attach(context);
    backward(context, sum(first * 1.0) + sum(second * 1.0));
    return std::vector{context.grad(first), context.grad(second)};
  };
  auto other = std::async(std::launch::async, [&] { return pass(cluster.node("b"), w, v); });
  for (const Tensor& mean : pass(cluster.node("a"), v, w)) BOOST_TEST(same_bytes(mean, full({2}, 1.0)));
  for (const Tensor& mean : other.get()) BOOST_TEST(same_bytes(mean, full({2}, 1.0)));
}

BOOST_AUTO_TEST_CASE(what_earlier_passes_have_left_survives_a_round_that_fails) {
  LocalCluster cluster({"trainer"}, {});
  Node& node = cluster.node("trainer");
  const Variable w(zeros({2}), RequiresGrad::yes);
  const auto reducer = std::make_shared<Reducer>(
      node, std::make_unique<Rounds>(node, std::make_shared<troupe::testing::Alone>(), nn::NamedVariables{{"w", w}},
                                     nn::NamedVariables{}, DataParallelOptions{}));
  /// Returns the gradient of w after a pass of w * factor.
  const auto pass = [&](double factor) {
    DistContext context(node);
    reducer->attach(context);
    backward(context, sum(w * factor));
    return context.grad(w);
  };
  const auto held_pass = [&](double factor) {
    reducer->hold();
    static_cast<void>(pass(factor));
    reducer->stop_holding();
  };
  held_pass(100.0);
  HookHandle hook = w.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("the hook fails"); });
  static_cast<void>(error_of([&] { return pass(7.0); }));
  hook.remove();
  held_pass(20.0);
  BOOST_TEST(same_bytes(pass(1.0), full({2}, 121.0)));
  BOOST_TEST(same_bytes(pass(1.0), full({2}, 1.0)));
}

BOOST_AUTO_TEST_CASE(a_table_that_is_read_as_rows_and_whole_has_the_sum_of_both) {
  LocalCluster cluster({"trainer"}, {});
  Node& node = cluster.node("trainer");
  const Variable w(ones({2}), RequiresGrad::yes);
  const Variable table(ones({3, 2}), RequiresGrad::yes);
  const auto reducer =
      std::make_shared<Reducer>(node, std::make_unique<Rounds>(node, std::make_shared<troupe::testing::Alone>(),
                                                               nn::NamedVariables{{"w", w}, {"table", table}},
                                                               nn::NamedVariables{}, DataParallelOptions{}));
  for (int round = 0; round < 3; ++round) {
    DistContext context(node);
    reducer->attach(context);
    const Variable rows = embedding(table, from_values<std::int64_t>({1}, {1}), {.sparse = true});
    backward(context, sum(rows * w) + sum(table * 10.0));
    BOOST_TEST(same_bytes(context.grad(table), from_values<float>({10, 10, 11, 11, 10, 10}, {3, 2})));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
