// Gradients that a round with a loss leaves in the user's context.
#include "actors/pipeline/loss_round.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
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

constexpr auto rows_stage = stage_class<RowsStage>;

/// Different for every row, with no rounding.
Variable weighted_sum(const Variable& rows, const Tensor& weights) { return sum(rows * weights); }

struct LossNodes {
  LocalCluster cluster{{"driver", "p1", "p2"}, {{"RowsStage", rows_stage}, {"weighted_sum", &weighted_sum}}};
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

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
