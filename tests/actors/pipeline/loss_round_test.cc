// Gradients that a round with a loss leaves in the user's context.
#include "actors/pipeline/loss_round.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "actors/dist_autograd.h"
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

constexpr auto factors_stage = stage_class<FactorsStage>;
constexpr auto hooked_stage = stage_class<HookedStage>;
constexpr auto rows_stage = stage_class<RowsStage>;

/// Different for every row, with no rounding.
Variable weighted_sum(const Variable& rows, const Tensor& weights) { return sum(rows * weights); }
Variable sum_of_rows_of(const Variable& result) { return sum(result); }

Variable weighted_by_variable(const Variable& result, const Variable& weights) { return sum(result * weights); }

struct LossNodes {
  LocalCluster cluster{{"driver", "p1", "p2"},
                       {{"RowsStage", rows_stage},
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

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
