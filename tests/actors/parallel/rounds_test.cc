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

/// A group of one member. Records its operations. Not thread-safe.
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
    return {announced ? from_values<std::int64_t>({*announced}) : value.clone()};
  }
  [[nodiscard]] Future<Tensor> all_reduce_async(const Scope&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Tensor reduce(const Scope&, const NodeName&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<Tensor> reduce_async(const Scope&, const NodeName&, const Tensor&, ReduceOp) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<Tensor> broadcast_async(const Scope&, const NodeName&, const Tensor&) override {
    throw std::logic_error("not used in rounds");
  }
  [[nodiscard]] Future<std::vector<Tensor>> all_gather_async(const Scope&, const Tensor&) override {
    throw std::logic_error("not used in rounds");
  }
  void barrier(const Scope&) override { throw std::logic_error("not used in rounds"); }
  void fail(const std::string&) override { operations.emplace_back("fail"); }

  Names operations;
  std::optional<std::int64_t> announced;  ///< in the place of what is gathered: a member that lies

 private:
  std::vector<NodeName> names_{"trainer"};
};

/// One parameter of `numel` elements, and the rounds of a group of one.
struct Training {
  explicit Training(std::int64_t numel) : rounds(scope, members, {{"w", Variable(zeros({numel}))}}, {}, {}) {}

  /// Performs a round with this gradient, of a pass that may have failed. Returns its operations.
  Names round(const LeafGradient& gradient, std::optional<Error> failure = std::nullopt) {
    MemberGradients own(std::vector<LeafGradient>(1));
    own.add(0, gradient);
    own.end(std::move(failure));
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

BOOST_AUTO_TEST_CASE(a_failed_pass_tells_why_and_leaves_no_gradient) {
  Training training(4);
  const LeafGradient threes{full({4}, 3.0), {}};
  static_cast<void>(training.round(threes));
  Error why;
  why.message = std::string(2'000, 'x');
  BOOST_TEST(training.round(threes, why) == (Names{"all_reduce", "all_gather", "all_gather"}),
             boost::test_tools::per_element());
  BOOST_TEST(training.outcome.failed == Names{"trainer"}, boost::test_tools::per_element());
  BOOST_TEST(training.outcome.cause == why.text().substr(0, 1'000));
  BOOST_TEST(training.outcome.gradients.empty());
}

BOOST_AUTO_TEST_CASE(a_text_or_rows_that_a_member_cannot_have_are_refused_with_its_name) {
  const auto refusal = [](Training& training, const LeafGradient& gradient, std::optional<Error> failure) {
    try {
      static_cast<void>(training.round(gradient, std::move(failure)));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  Training training(4);
  const LeafGradient dense{full({4}, 3.0), {}};
  static_cast<void>(training.round(dense));
  for (const std::int64_t lie : {std::int64_t{-1}, std::int64_t{1'001}, std::int64_t{1} << 62}) {
    training.members->announced = lie;
    BOOST_TEST(refusal(training, dense, Error{}) ==
               "[DataParallel] trainer announces " + std::to_string(lie) + " bytes of text, at most 1000 are possible");
  }
  Training of_table(4);
  const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({1, 1}, {1, 2}), ones({2}), {4})};
  static_cast<void>(of_table.round(rows));
  BOOST_TEST(of_table.outcome.gradients[0].rows.to_dense().data<float>()[1] == 2.0F);
  for (const std::int64_t lie : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 62}) {
    of_table.members->announced = lie;
    BOOST_TEST(refusal(of_table, rows, std::nullopt) ==
               "[DataParallel] trainer announces " + std::to_string(lie) + " rows of a table, at most 4 are possible");
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
