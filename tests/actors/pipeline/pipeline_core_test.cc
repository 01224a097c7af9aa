#include "actors/pipeline/pipeline_core.h"

#include <boost/test/unit_test.hpp>

#include <vector>

#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/pipeline.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe::testing {
namespace {

/// x * weight.
class ScalingStage final : public nn::Module {
 public:
  explicit ScalingStage(double weight) : weight_(add_parameter("weight", full({1}, weight))) {}

  [[nodiscard]] Variable forward(const Variable& x) { return x * weight_; }

 private:
  Variable weight_;
};

constexpr auto scaling_stage = stage_class<ScalingStage, double>;

}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_core)

BOOST_AUTO_TEST_CASE(a_module_that_is_two_stages_has_its_parameters_once_and_is_trained_as_a_local_one) {
  LocalCluster cluster({"driver", "p1", "p2"}, {{"ScalingStage", scaling_stage}});
  Node& driver = cluster.node("driver");
  const RemoteModule m(driver, "p1", scaling_stage, 2.0);
  const RemoteModule n(driver, "p2", scaling_stage, 3.0);
  const Pipeline net(driver, {m, n, m}, {.chunks = 2});
  const std::vector<RRef<Variable>> parameters = net.parameters(driver);
  const DistOptimizer optimizer(driver, optim::SgdOptions{.lr = 0.25}, parameters);
  const Tensor x = from_values<float>({1.0F, 2.0F}, {2, 1});
  {
    const DistContext ctx(driver);
    backward(ctx, sum(net.forward(ctx, Variable(x))));
    optimizer.step(ctx);
  }
  const Variable local_m(full({1}, 2.0), RequiresGrad::yes);
  const Variable local_n(full({1}, 3.0), RequiresGrad::yes);
  const Gradients gradients = backward(sum(Variable(x) * local_m * local_n * local_m));
  BOOST_TEST_REQUIRE(parameters.size() == 2);
  BOOST_TEST(same_bytes(parameters[0].to_here(driver).value(), local_m.value() - gradients.of(local_m) * 0.25));
  BOOST_TEST(same_bytes(parameters[1].to_here(driver).value(), local_n.value() - gradients.of(local_n) * 0.25));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
