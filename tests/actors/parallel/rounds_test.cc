#include "actors/parallel/rounds.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/local_cluster.h"
#include "tensor/create.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(rounds)

namespace {

using Names = std::vector<std::string>;

/// A group of one member. Notes its operations. Not thread-safe.
class Alone final : public Collective {
 public:
  [[nodiscard]] const std::vector<NodeName>& names() const override { return names_; }
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] Tensor all_reduce(const Scope&, const Tensor& value, ReduceOp) override {
    operations.emplace_back("all_reduce");
    return value.clone();
  }
  [[nodiscard]] Tensor broadcast(const Scope&, const NodeName&, const Tensor& value) override {
    operations.emplace_back("broadcast");
    return value.clone();
  }
  [[nodiscard]] std::vector<Tensor> all_gather(const Scope&, const Tensor& value) override {
    operations.emplace_back("all_gather");
    return {value.clone()};
  }
  [[nodiscard]] Future<Tensor> all_reduce_async(const Scope&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Tensor reduce(const Scope&, const NodeName&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  void barrier(const Scope&) override { throw std::logic_error("not used in rounds"); }
  void fail(const std::string&) override { operations.emplace_back("fail"); }

  Names operations;

 private:
  std::vector<NodeName> names_{"trainer"};
};

/// One parameter of `numel` elements, and the rounds of a group of one.
struct Training {
  explicit Training(std::int64_t numel) : rounds(scope, members, {{"w", Variable(zeros({numel}))}}, {}, {}) {}

  /// Performs a round with this gradient. Returns its operations.
  Names round(const LeafGradient& gradient) {
    MemberGradients own(std::vector<LeafGradient>(1));
    own.add(0, gradient);
    own.end(std::nullopt);
    members->operations.clear();
    outcome = rounds.run(own, Presence::active);
    return members->operations;
  }

  LocalCluster cluster{{"trainer"}, {}};
  Node& scope = cluster.node("trainer");
  std::shared_ptr<Alone> members = std::make_shared<Alone>();
  Rounds rounds;
  RoundOutcome outcome;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_round_of_a_small_model_is_one_operation_once_there_is_a_plan) {
  Training training(4);
  const LeafGradient threes{full({4}, 3.0), {}};
  BOOST_TEST(training.round(threes) == (Names{"all_reduce", "all_reduce", "broadcast", "all_reduce"}),
             boost::test_tools::per_element());
  BOOST_TEST(training.round(threes) == Names{"all_reduce"}, boost::test_tools::per_element());
  BOOST_TEST(training.outcome.gradients[0].dense.data<float>()[3] == 3.0F);
}

BOOST_AUTO_TEST_CASE(a_large_bucket_is_summed_while_the_pass_runs) {
  Training training(1 << 20);
  const LeafGradient ones{full({1 << 20}, 1.0), {}};
  static_cast<void>(training.round(ones));
  BOOST_TEST(training.round(ones) == (Names{"all_reduce", "all_reduce"}), boost::test_tools::per_element());
  BOOST_TEST(training.outcome.gradients[0].dense.data<float>()[1] == 1.0F);
}

BOOST_AUTO_TEST_CASE(a_parameter_that_nobody_used_has_no_gradient) {
  Training training(4);
  static_cast<void>(training.round({full({4}, 3.0), {}}));
  static_cast<void>(training.round({}));
  BOOST_TEST(!training.outcome.gradients[0].defined());
  BOOST_TEST((training.outcome.active == std::vector<std::size_t>{0}));
}

BOOST_AUTO_TEST_CASE(a_round_without_any_pass_has_nobody_and_nothing) {
  Training training(4);
  static_cast<void>(training.round({full({4}, 3.0), {}}));
  MemberGradients nothing(std::vector<LeafGradient>(1));
  nothing.end(std::nullopt);
  const RoundOutcome outcome = training.rounds.run(nothing, Presence::joined);
  BOOST_TEST(outcome.active.empty());
  BOOST_TEST(outcome.gradients.empty());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
