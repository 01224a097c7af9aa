// Gradients that a round with a loss leaves in the user's context.
#include "actors/pipeline/loss_round.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/embedding/sharded_embedding.h"
#include "actors/pipeline.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {
namespace {

constexpr std::int64_t kTableRows = 50;
constexpr std::int64_t kTableWidth = 2;

/// Looks up one row of a table for each input: its gradient is rows.
class RowsStage final : public nn::Module {
 public:
  RowsStage() : table_(add_parameter("table", full({kTableRows, kTableWidth}, 0.5))) {}

  [[nodiscard]] Variable forward(const Tensor& index) { return embedding(table_, index, {.sparse = true}); }

 private:
  Variable table_;
};

/// x * weight. The weight has hooks, which halve its gradient and clip it to 2.5.
class HookedStage final : public nn::Module {
 public:
  HookedStage() : weight_(add_parameter("weight", ones({1}))) {
    weight_.register_hook([this](const Tensor& gradient) {
      ++clips_;
      return clamp(gradient * 0.5, -2.5, 2.5);
    });
    weight_.register_post_accumulate_grad_hook([this](const Variable&, const Tensor& gradient) {
      ++ends_;
      last_ = gradient.item();
    });
  }

  [[nodiscard]] Variable forward(const Variable& x) { return x * weight_; }

  /// Returns how often each hook was called, and the gradient that the last one has seen.
  [[nodiscard]] std::tuple<std::int64_t, std::int64_t, double> seen() const { return {clips_, ends_, last_}; }

 private:
  Variable weight_;
  std::atomic<std::int64_t> clips_{0};
  std::atomic<std::int64_t> ends_{0};
  std::atomic<double> last_{0.0};
};

/// x times factors that may be there.
class FactorsStage final : public nn::Module {
 public:
  FactorsStage() : weight_(add_parameter("weight", ones({2}))) {}

  [[nodiscard]] Variable forward(const Variable& x, const std::optional<Variable>& factor,
                                 const std::vector<Variable>& more) {
    Variable result = x * weight_;
    if (factor) result = result * *factor;
    for (const Variable& one : more) result = result * one;
    return result;
  }

 private:
  Variable weight_;
};

/// A leaf with a hook that halves its gradient.
class ServedWeight {
 public:
  explicit ServedWeight(double value) : weight_(full({1}, value), RequiresGrad::yes) {
    static_cast<void>(weight_.register_hook([this](const Tensor& gradient) {
      ++hook_calls_;
      return gradient * 0.5;
    }));
  }

  [[nodiscard]] Variable scaled(const Variable& x) const { return x * weight_; }
  [[nodiscard]] std::int64_t hook_calls() const { return hook_calls_; }
  [[nodiscard]] Tensor gradient(Scope& scope) const { return gradients(scope).of(weight_); }

 private:
  Variable weight_;
  std::atomic<std::int64_t> hook_calls_{0};
};

ServedWeight make_served_weight(double value) { return ServedWeight(value); }

/// Has no leaf of its own: scales x by one weight after the other, where each is. Micro-batches with a sum below
/// 0 use the first only.
class CallingStage final : public nn::Module {
 public:
  explicit CallingStage(std::vector<RRef<ServedWeight>> weights) : weights_(std::move(weights)) {}

  [[nodiscard]] Variable forward(Scope& scope, const Variable& x) {
    Variable result = x;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (i == 0 || sum(x.value()).item() >= 0.0) {
        result = weights_[i].rpc_sync(scope, &ServedWeight::scaled, result);
      }
    }
    return result;
  }

 private:
  std::vector<RRef<ServedWeight>> weights_;
};

/// Looks rows up in a table on several nodes.
class LookupStage final : public nn::Module {
 public:
  explicit LookupStage(ShardedEmbedding table) : table_(std::move(table)) {}

  [[nodiscard]] Variable forward(Scope& scope, const Tensor& index) { return table_.lookup(scope, index); }

 private:
  ShardedEmbedding table_;
};

constexpr auto lookup_stage = stage_class<LookupStage, ShardedEmbedding>;

/// Has no gradient.
class CuttingStage final : public nn::Module {
 public:
  [[nodiscard]] Variable forward(const Variable& x) { return x.detach(); }
};

constexpr auto cutting_stage = stage_class<CuttingStage>;
constexpr auto calling_stage = stage_class<CallingStage, std::vector<RRef<ServedWeight>>>;
constexpr auto factors_stage = stage_class<FactorsStage>;
constexpr auto hooked_stage = stage_class<HookedStage>;
constexpr auto rows_stage = stage_class<RowsStage>;

/// Different for every row, with no rounding.
Variable weighted_sum(const Variable& rows, const Tensor& weights) { return sum(rows * weights); }
Variable sum_of_rows_of(const Variable& result) { return sum(result); }

Variable weighted_by_variable(const Variable& result, const Variable& weights) { return sum(result * weights); }

struct LossNodes {
  LocalCluster cluster{{"driver", "p1", "p2", "ps"},
                       {{"RowsStage", rows_stage},
                        {"make_served_weight", &make_served_weight},
                        {"ServedWeight::scaled", &ServedWeight::scaled},
                        {"ServedWeight::hook_calls", &ServedWeight::hook_calls},
                        {"ServedWeight::gradient", &ServedWeight::gradient},
                        {"CallingStage", calling_stage},
                        {"CuttingStage", cutting_stage},
                        {"LookupStage", lookup_stage},
                        {"FactorsStage", factors_stage},
                        {"weighted_by_variable", &weighted_by_variable},
                        {"HookedStage", hooked_stage},
                        {"HookedStage::seen", &HookedStage::seen},
                        {"sum_of_rows_of", &sum_of_rows_of},
                        {"weighted_sum", &weighted_sum}}};
  Node& driver = cluster.node("driver");
};

const Tensor kRowIndex = from_values<std::int64_t>({7, 3, 7, 49, 0, 7}, {6});
const Tensor kRowWeights = arange(1, 13, 1, DType::f32).view({6, kTableWidth});

}  // namespace

BOOST_FIXTURE_TEST_SUITE(loss_round, LossNodes)

BOOST_AUTO_TEST_CASE(gradients_that_are_rows_stay_rows_and_are_those_of_forward) {
  const RemoteModule stage(driver, "p1", rows_stage);
  const Pipeline<Variable(Tensor)> net(driver, {stage}, {.chunks = 3, .loss_of = LossOf::sum});
  std::vector<SparseTensor> found;
  for (const bool by_loss : {false, true}) {
    const DistContext ctx(driver);
    backward(ctx, by_loss ? net.loss(ctx, kRowIndex, &weighted_sum, kRowWeights)
                          : weighted_sum(net.forward(ctx, kRowIndex), kRowWeights));
    const std::vector<RemoteGradient> gradients = ctx.gradients("p1");
    BOOST_TEST_REQUIRE(gradients.size() == 1);
    BOOST_TEST_REQUIRE(gradients.front().rows.defined());
    found.push_back(gradients.front().rows);
  }
  BOOST_TEST(found[0].count() == 4);
  BOOST_TEST(same_bytes(found[1].indices(), found[0].indices()));
  BOOST_TEST(same_bytes(found[1].values(), found[0].values()));
}

// 10, -3 and -1 of the micro-batches are 6, a half of it 3.
BOOST_AUTO_TEST_CASE(hooks_of_a_leaf_run_once_for_a_round_on_the_sum_of_its_gradients) {
  const RemoteModule stage(driver, "p1", hooked_stage);
  const Pipeline net(driver, {stage}, {.chunks = 3, .loss_of = LossOf::sum});
  const Tensor x = from_values<float>({10.0F, -3.0F, -1.0F}, {3, 1});
  for (std::int64_t step = 1; step <= 2; ++step) {
    const DistContext ctx(driver);
    backward(ctx, net.loss(ctx, x, &sum_of_rows_of));
    BOOST_TEST(ctx.grad(stage.remote_parameters(driver).front()).item() == 2.5);
    BOOST_TEST((stage.module_rref().rpc_sync(driver, &HookedStage::seen) == std::tuple(step, step, 2.5)));
  }
}

BOOST_AUTO_TEST_CASE(inputs_and_targets_with_a_graph_on_the_driver_get_the_gradients_of_forward) {
  using Factors = std::vector<Variable>;
  const RemoteModule stage(driver, "p1", factors_stage);
  const Pipeline<Variable(Variable, std::optional<Variable>, Factors)> net(driver, {stage},
                                                                           {.chunks = 3, .loss_of = LossOf::sum});
  std::vector<std::vector<Tensor>> found;
  for (const bool by_loss : {false, true}) {
    const auto leaf = [](double value, const Shape& shape) { return Variable(full(shape, value), RequiresGrad::yes); };
    const Variable x = leaf(2.0, {6, 2});
    const Variable factor = leaf(3.0, {6, 2});
    const Variable more = leaf(5.0, {2});
    const Variable target = leaf(0.5, {6, 2});
    const DistContext ctx(driver);
    const Factors factors{more * 2.0, Variable(full({2}, 0.25)), more};
    backward(ctx, by_loss ? net.loss(ctx, std::tuple(x, std::optional(factor * factor), factors), &weighted_by_variable,
                                     target * kRowWeights)
                          : weighted_by_variable(net.forward(ctx, x, std::optional(factor * factor), factors),
                                                 target * kRowWeights));
    found.emplace_back();
    for (const Variable& one : {x, factor, more, target}) {
      found.back().push_back(ctx.grad(one));
      BOOST_TEST_REQUIRE(found.back().back().defined());
    }
  }
  for (std::size_t i = 0; i < found[0].size(); ++i) BOOST_TEST(same_bytes(found[1][i], found[0][i]), "leaf " << i);
}

BOOST_AUTO_TEST_CASE(leaves_on_nodes_without_a_stage_that_stages_call_get_the_gradients_of_forward) {
  std::vector<RRef<ServedWeight>> weights;
  for (const std::string node : {"ps", "driver", "p2"})
    weights.push_back(driver.remote(node, &make_served_weight, 3.0));
  const RemoteModule first(driver, "p1", calling_stage, weights);
  const RemoteModule second(driver, "p2", calling_stage, std::vector{weights[0]});
  const Tensor x = from_values<float>({1.0F, 2.0F, -7.0F, 4.0F, 5.0F, 6.0F}, {6, 1});
  std::vector<std::vector<Tensor>> found;
  std::int64_t steps = 0;
  for (const auto& schedule :
       {std::optional<Schedule>(), std::optional(Schedule::one_f_one_b), std::optional(Schedule::fill_drain)}) {
    const Pipeline net(driver, {first, second},
                       {.chunks = 3, .schedule = schedule.value_or(Schedule::fill_drain), .loss_of = LossOf::sum});
    const DistContext ctx(driver);
    const Variable input(x, RequiresGrad::yes);
    backward(ctx, schedule ? net.loss(ctx, input, &sum_of_rows_of) : sum(net.forward(ctx, input)));
    found.push_back({ctx.grad(input)});
    ++steps;
    for (const auto& weight : weights) {
      found.back().push_back(weight.rpc_sync(ctx, &ServedWeight::gradient));
      BOOST_TEST_REQUIRE(found.back().back().defined());
      BOOST_TEST(weight.rpc_sync(driver, &ServedWeight::hook_calls) == steps);
    }
  }
  for (std::size_t way = 1; way < found.size(); ++way) {
    for (std::size_t i = 0; i < found[way].size(); ++i) {
      BOOST_TEST(same_bytes(found[way][i], found[0][i]), "gradient " << i << " of way " << way);
    }
  }
}

// Of an owner that has no row of a micro-batch, too.
BOOST_AUTO_TEST_CASE(tables_that_a_stage_looks_up_on_other_nodes_get_the_rows_of_forward) {
  const std::vector<NodeName> owners{"ps", "driver", "p1"};
  const ShardedEmbedding table(driver, owners, {.rows = kTableRows, .width = kTableWidth, .seed = 1});
  const RemoteModule stage(driver, "p1", lookup_stage, table);
  const Pipeline<Variable(Tensor)> net(driver, {stage}, {.chunks = 6, .loss_of = LossOf::sum});
  std::vector<std::vector<SparseTensor>> found;
  for (const bool by_loss : {false, true}) {
    const DistContext ctx(driver);
    backward(ctx, by_loss ? net.loss(ctx, kRowIndex, &weighted_sum, kRowWeights)
                          : weighted_sum(net.forward(ctx, kRowIndex), kRowWeights));
    found.emplace_back();
    for (const NodeName& owner : owners) {
      const std::vector<RemoteGradient> gradients = ctx.gradients(owner);
      BOOST_TEST_REQUIRE(gradients.size() == 1);
      BOOST_TEST_REQUIRE(gradients.front().rows.defined());
      found.back().push_back(gradients.front().rows);
    }
  }
  std::int64_t count = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    BOOST_TEST(same_bytes(found[1][i].indices(), found[0][i].indices()));
    BOOST_TEST(same_bytes(found[1][i].values(), found[0][i].values()));
    count += found[1][i].count();
  }
  BOOST_TEST(count == 4);
}

BOOST_AUTO_TEST_CASE(leaf_on_the_node_of_a_stage_without_gradients_gets_its_gradient) {
  const auto weight = driver.remote("p1", &make_served_weight, 3.0);
  const RemoteModule first(driver, "p1", cutting_stage);
  const RemoteModule second(driver, "p2", calling_stage, std::vector{weight});
  const Pipeline net(driver, {first, second}, {.chunks = 2, .loss_of = LossOf::sum});
  for (std::int64_t step = 1; step <= 2; ++step) {
    const DistContext ctx(driver);
    backward(ctx, net.loss(ctx, from_values<float>({1.0F, 2.0F}, {2, 1}), &sum_of_rows_of));
    BOOST_TEST(weight.rpc_sync(ctx, &ServedWeight::gradient).item() == 1.5);
    BOOST_TEST(weight.rpc_sync(driver, &ServedWeight::hook_calls) == step);
  }
}

BOOST_AUTO_TEST_CASE(leaf_that_a_stage_calls_more_often_than_a_route_tells_gets_its_gradient) {
  const auto weight = driver.remote("ps", &make_served_weight, 1.0);
  const RemoteModule stage(driver, "p1", calling_stage, std::vector(70, weight));
  const Pipeline net(driver, {stage}, {.chunks = 2, .loss_of = LossOf::sum});
  const DistContext ctx(driver);
  backward(ctx, net.loss(ctx, from_values<float>({1.0F, 2.0F}, {2, 1}), &sum_of_rows_of));
  BOOST_TEST(weight.rpc_sync(ctx, &ServedWeight::gradient).item() == 0.5 * 70 * 3);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
