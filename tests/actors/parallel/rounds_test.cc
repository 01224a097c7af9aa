#include "actors/parallel/rounds.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/gloo_collective.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/actors/parallel/alone.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(rounds)

namespace {

using Names = std::vector<std::string>;
using namespace std::chrono_literals;
using troupe::testing::Alone;

/// One parameter of `numel` elements, and the rounds of a group of one.
struct Training {
  explicit Training(std::int64_t numel) : Training(zeros({numel}), std::make_shared<Alone>(), {}) {}
  Training(const Tensor& parameter, std::shared_ptr<Alone> group, DataParallelOptions options)
      : members(std::move(group)), rounds(scope, members, {{"w", Variable(parameter)}}, {}, options) {}

  /// Performs a round with this gradient, of a pass that may have failed. Returns its operations.
  Names round(const LeafGradient& gradient, std::optional<Error> failure = std::nullopt) {
    MemberGradients own(std::vector<LeafGradient>(1));
    own.add(0, gradient);
    failure ? static_cast<void>(own.fail(*failure)) : own.end();
    members->operations.clear();
    outcome = rounds.run(own, Presence::active);
    return members->operations;
  }

  LocalCluster cluster{{"trainer"}, {}};
  Node& scope = cluster.node("trainer");
  std::shared_ptr<Alone> members;
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

BOOST_AUTO_TEST_CASE(a_mean_of_16_bit_gradients_is_rounded_once_and_does_not_overflow) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    Training training(zeros({2}, dtype), std::make_shared<Alone>(Names{"trainer", "other"}),
                      {.divisor = Divisor::members});
    const LeafGradient large{full({2}, 40'000.0, dtype), {}};
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(training.round(large));
      const Tensor mean = training.outcome.gradients[0].dense;
      BOOST_TEST(same_bytes(mean, large.dense));
    }
  }
}

BOOST_AUTO_TEST_CASE(means_of_16_bit_rows_equal_those_of_dense_gradients) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const double least = dtype == DType::f16 ? 0x1p-24 : 0x1p-133;  // half of it is rounded to 0
    const Tensor parts = full({2, 1}, least, dtype);
    const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({2, 0}, {1, 2}), parts, {4, 1})};
    std::vector<Tensor> means;
    for (const LeafGradient& gradient : {rows, LeafGradient{rows.rows.to_dense(), {}}}) {
      LocalCluster cluster({"a", "b"}, {});
      const Group group(Names{"a", "b"});
      const auto run = [&](Node& node) {
        Rounds rounds(node, gloo_collective(node, group), {{"w", Variable(zeros({4, 1}, dtype))}}, {}, {});
        MemberGradients own({gradient});
        own.end();
        return rounds.run(own, Presence::active).gradients[0];
      };
      auto other = std::async(std::launch::async, [&] { return run(cluster.node("b")); });
      const LeafGradient mean = run(cluster.node("a"));
      static_cast<void>(other.get());
      BOOST_TEST(mean.rows.defined() == gradient.rows.defined());
      BOOST_TEST((!mean.rows.defined() || mean.rows.is_coalesced()));
      means.push_back(mean.rows.defined() ? mean.rows.to_dense() : mean.dense);
    }
    BOOST_TEST(same_bytes(means[1], from_values<float>({1, 0, 1, 0}, {4, 1}).to(dtype) * least));
    BOOST_TEST(same_bytes(means[0], means[1]));
  }
}

BOOST_AUTO_TEST_CASE(a_round_without_any_pass_has_nobody_and_nothing) {
  Training training(4);
  static_cast<void>(training.round({full({4}, 3.0), {}}));
  MemberGradients nothing(std::vector<LeafGradient>(1));
  nothing.end();
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

BOOST_AUTO_TEST_CASE(a_first_round_that_fails_fixes_no_plan) {
  Training training(4);
  const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({1, 1}, {1, 2}), ones({2}), {4})};
  static_cast<void>(training.round({}, Error{}));  // the pass fails before it reaches the table
  BOOST_TEST(training.outcome.failed == Names{"trainer"}, boost::test_tools::per_element());
  static_cast<void>(training.round(rows));
  BOOST_TEST(training.outcome.gradients[0].rows.defined());
  static_cast<void>(training.round(rows, Error{}));  // a later failure leaves the plan
  BOOST_TEST(training.round(rows) == (Names{"all_gather", "all_gather", "all_gather", "all_reduce"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_parameter_travels_as_it_does_in_the_first_round_that_uses_it) {
  const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({1, 1}, {1, 2}), ones({2}), {4})};
  const LeafGradient threes{full({4}, 3.0), {}};
  Training of_table(4);
  static_cast<void>(of_table.round({}));
  BOOST_TEST(of_table.round({}) == Names{"all_reduce"}, boost::test_tools::per_element());  // the end alone
  BOOST_TEST(!of_table.outcome.gradients[0].defined());
  BOOST_TEST(of_table.round(rows) == (Names{"all_reduce", "all_gather", "all_gather", "all_gather"}),
             boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(of_table.outcome.gradients[0].rows.defined());
  BOOST_TEST(of_table.outcome.gradients[0].rows.to_dense().data<float>()[1] == 2.0F);  // 1 + 1
  BOOST_TEST(of_table.round(threes) == (Names{"all_gather", "all_gather", "all_gather", "all_reduce"}),
             boost::test_tools::per_element());
  Training dense(4);
  static_cast<void>(dense.round({}));
  BOOST_TEST(dense.round(threes) == (Names{"all_reduce", "all_reduce"}), boost::test_tools::per_element());
  BOOST_TEST(same_bytes(dense.outcome.gradients[0].dense, threes.dense));
  static_cast<void>(dense.round(rows));
  BOOST_TEST(!dense.outcome.gradients[0].rows.defined());
  BOOST_TEST(same_bytes(dense.outcome.gradients[0].dense, from_values<float>({0, 2, 0, 0})));
}

BOOST_AUTO_TEST_CASE(a_round_that_fails_settles_nothing_of_what_it_used_first) {
  Training training(4);
  const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({1, 1}, {1, 2}), ones({2}), {4})};
  static_cast<void>(training.round({}));
  static_cast<void>(training.round({full({4}, 3.0), {}}, Error{}));
  static_cast<void>(training.round(rows));
  BOOST_TEST(training.outcome.gradients[0].rows.defined());
}

BOOST_AUTO_TEST_CASE(members_agree_on_parameters_that_some_of_them_use_later) {
  LocalCluster cluster({"a", "b"}, {});
  const Group group(Names{"a", "b"});
  const LeafGradient none;
  const LeafGradient dense{full({4, 1}, 4.0), {}};
  const LeafGradient rows{{}, SparseTensor(from_values<std::int64_t>({2}, {1, 1}), full({1, 1}, 2.0), {4, 1})};
  using Gradients = std::vector<LeafGradient>;
  /// Performs rounds with these gradients of the parameters. Returns the outcome of the last one.
  const auto run = [&](Node& node, const std::vector<Gradients>& each) {
    nn::NamedVariables parameters;
    for (std::size_t i = 0; i < each[0].size(); ++i) {
      parameters.emplace_back("w" + std::to_string(i), Variable(zeros({4, 1}), RequiresGrad::yes));
    }
    Rounds rounds(node, gloo_collective(node, group), parameters, {}, {});
    RoundOutcome outcome;
    for (const Gradients& found : each) {
      MemberGradients own(found);
      own.end();
      outcome = rounds.run(own, Presence::active);
    }
    return outcome;
  };
  const Gradients nothing{none, none, none, none, none};
  for (const auto& [first, count] : {std::pair(Gradients{dense, none, none, none, none}, 1), std::pair(nothing, 2)}) {
    std::vector<Gradients> of_a{first};
    std::vector<Gradients> of_b{nothing};
    for (int i = 0; i < count; ++i) {
      of_a.push_back({dense, rows, rows, none, none});
      of_b.push_back({none, rows, dense, rows, none});
    }
    auto other = std::async(std::launch::async, [&] { return run(cluster.node("b"), of_b); });
    const RoundOutcome here = run(cluster.node("a"), of_a);
    const RoundOutcome there = other.get();
    for (const RoundOutcome& outcome : {here, there}) {
      BOOST_TEST(same_bytes(outcome.gradients[0].dense, full({4, 1}, 2.0)));
      BOOST_TEST_REQUIRE(outcome.gradients[1].rows.defined());
      BOOST_TEST(same_bytes(outcome.gradients[1].rows.to_dense(), from_values<float>({0, 0, 2, 0}, {4, 1})));
      BOOST_TEST(same_bytes(outcome.gradients[2].dense, from_values<float>({2, 2, 3, 2}, {4, 1})));  // (4 + 2) / 2
      BOOST_TEST_REQUIRE(outcome.gradients[3].rows.defined());
      BOOST_TEST(same_bytes(outcome.gradients[3].rows.to_dense(), from_values<float>({0, 0, 1, 0}, {4, 1})));
      BOOST_TEST(!outcome.gradients[4].defined());
    }
  }
}

BOOST_AUTO_TEST_CASE(copies_of_a_members_variables_follow_the_values_of_another_member) {
  LocalCluster cluster({"a", "b", "reader"}, {});
  Node& reader = cluster.node("reader");
  const Group group(Names{"a", "b"});
  struct Member {
    Member(Node& node, const Group& among, double value)
        : weight(full({3}, value), RequiresGrad::yes),
          mean(full({2}, value)),
          rounds(node, gloo_collective(node, among), {{"weight", weight}}, {{"mean", mean}}, {}) {}
    Variable weight;
    Variable mean;
    Rounds rounds;
  };
  auto making = std::async(std::launch::async, [&] { return std::make_unique<Member>(cluster.node("b"), group, 2.0); });
  Member first(cluster.node("a"), group, 1.0);
  const auto second = making.get();
  static_cast<void>(cluster.node("b").publish("weight", second->weight));
  static_cast<void>(cluster.node("b").publish("mean", second->mean));
  const auto weight = reader.find<Variable>("b", "weight");
  const auto mean = reader.find<Variable>("b", "mean");
  const auto have = [&](double value) {
    return same_bytes(weight.cached(reader)->value(), full({3}, value)) &&
           same_bytes(mean.cached(reader)->value(), full({2}, value));
  };
  const auto follow = [&](double value) {
    const auto due = std::chrono::steady_clock::now() + 5s;  // the owner's notifications are on their way
    while (!have(value) && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    return have(value);
  };
  BOOST_TEST(have(2.0));
  auto beginning = std::async(std::launch::async, [&] { second->rounds.begin(cluster.node("b")); });
  first.rounds.begin(cluster.node("a"));
  beginning.get();
  BOOST_TEST(follow(1.0));
  first.weight.set_value(full({3}, 5.0));
  first.mean.set_value(full({2}, 5.0));
  auto joining = std::async(std::launch::async, [&] { second->rounds.broadcast_all(0); });
  first.rounds.broadcast_all(0);
  joining.get();
  BOOST_TEST(follow(5.0));
}

BOOST_AUTO_TEST_CASE(what_equal_members_tell_each_other_of_their_modules_does_not_grow_with_these) {
  LocalCluster cluster({"trainer"}, {});
  Node& node = cluster.node("trainer");
  const auto told = [&](int count) {
    nn::NamedVariables parameters;
    for (int i = 0; i < count; ++i) parameters.emplace_back("w" + std::to_string(i), Variable(zeros({1})));
    const auto members = std::make_shared<Alone>();
    Rounds(node, members, std::move(parameters), {}, {}).begin(node);
    BOOST_TEST(members->operations == (Names{"all_gather", "broadcast"}), boost::test_tools::per_element());
    return members->gathered_bytes;
  };
  BOOST_TEST(told(1) == told(100));
}

BOOST_AUTO_TEST_CASE(members_with_different_options_are_told_those_of_both) {
  LocalCluster cluster({"a", "b"}, {});
  const auto refusal = [&](const NodeName& member, Divisor divisor) {
    Node& node = cluster.node(member);
    Rounds rounds(node, gloo_collective(node, Group(Names{"a", "b"})), {{"w", Variable(zeros({4}))}}, {},
                  {.divisor = divisor});
    try {
      rounds.begin(node);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  auto second = std::async(std::launch::async, [&] { return refusal("b", Divisor::active); });
  const std::string sizes = "bucket_bytes 26214400, first_bucket_bytes 1048576, broadcast_buffers true, divisor ";
  const std::string want =
      "[DataParallel] members have different options: a has " + sizes + "members, b has " + sizes + "active";
  BOOST_TEST(refusal("a", Divisor::members) == want);
  BOOST_TEST(second.get() == want);
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
