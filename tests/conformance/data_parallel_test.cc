// Data-parallel training: gradients of replicas are the mean over all members, those of other nodes stay apart.
#include "actors/data_parallel.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/gloo_collective.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/print.h"
#include "tests/conformance/replica_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(data_parallel, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;
using Names = std::vector<NodeName>;
using Tensors = std::vector<Tensor>;

const Names kMembers{"p1", "p2", "p3"};

Tensor words(std::vector<std::int64_t> each) {
  return from_values<std::int64_t>(each, {static_cast<std::int64_t>(each.size())});
}

/// `count` batches of the member of that rank, all different.
Tensors batches_of(std::int64_t rank, std::int64_t count) {
  Tensors batches;
  for (std::int64_t i = 0; i < count; ++i) {
    batches.push_back(words({(rank + i) % 8, (3 * rank + 2 * i + 1) % 8, (rank + i) % 8, (5 + i) % 8}));
  }
  return batches;
}

/// Runs `plan` on every member, with that member's batches, and on no other node.
std::vector<ReplicaOutcome> run_all(Node& trainer, const ReplicaPlan& plan, const std::vector<Tensors>& batches,
                                    const Leaf& far) {
  std::vector<Future<ReplicaOutcome>> running;
  for (std::size_t rank = 0; rank < plan.members.size(); ++rank) {
    ReplicaPlan own = plan;
    own.batches = batches[rank];
    if (plan.fails_at >= 0 && rank != 1) own.fails_at = -1;  // the member of rank 1 fails
    running.push_back(trainer.rpc_async(plan.members[rank], &run_replica, own, far));
  }
  std::vector<ReplicaOutcome> outcomes;
  for (const auto& one : running) outcomes.push_back(one.get());
  return outcomes;
}

/// The same training in this process, without nodes: what each parameter's gradient must be.
class Twin {
 public:
  explicit Twin(double far) : far_(Variable(full({ReplicaNet::kWidth}, far), RequiresGrad::yes)) {}

  /// Returns the gradients that a replica finds by itself for `batch`; the last one is that of the factor.
  [[nodiscard]] Tensors gradients(const Tensor& batch) const {
    const Gradients all = backward(mean(net_.local_part(batch) * far_));
    Tensors list;
    for (const Variable& parameter : net_.parameters()) list.push_back(all.of(parameter));
    list.push_back(all.of(far_));
    return list;
  }

  /// Returns the sum over the batches divided by `divisor`; undefined where none has a gradient.
  [[nodiscard]] Tensors means(const Tensors& batches, double divisor) const {
    Tensors sums;
    for (const Tensor& batch : batches) {
      const Tensors each = gradients(batch);
      sums.resize(each.size());
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (each[i].defined()) sums[i] = sums[i].defined() ? sums[i] + each[i] : each[i];
      }
    }
    for (Tensor& sum : sums) {
      if (sum.defined()) sum = sum / divisor;
    }
    return sums;
  }

  void step(const Tensors& gradients, double rate) const {
    const std::vector<Variable> parameters = net_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (gradients[i].defined()) parameters[i].set_value(parameters[i].value() - gradients[i] * rate);
    }
  }

  [[nodiscard]] std::vector<Variable> parameters() const { return net_.parameters(); }

 private:
  ReplicaNet net_{7, false, false};  // rank 0's
  Variable far_;
};

bool close(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && allclose(a, b, 1e-5, 1e-7); }

/// Checks the gradients of a replica's parameters: `want` may have more.
void check_gradients(const Tensors& got, const Tensors& want) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool is_used = want[i].defined() && want[i].numel() > 0;
    BOOST_TEST((got[i].numel() > 0) == is_used, "parameter " << i << " is used");
    if (is_used)
      BOOST_TEST(close(got[i], want[i]),
                 "parameter " << i << ": " << to_string(got[i]) << ", not " << to_string(want[i]));
  }
}

/// Checks that all members have the same bits: in the parameters after every step, and in all values at the end. A
/// member that has joined early has fewer steps.
void check_equal(const std::vector<ReplicaOutcome>& outcomes) {
  const ReplicaOutcome& longest =
      *std::ranges::max_element(outcomes, {}, [](const ReplicaOutcome& one) { return one.steps.size(); });
  for (const ReplicaOutcome& other : outcomes) {
    BOOST_TEST(other.steps.size() == other.gradients.size());
    for (std::size_t i = 0; i < other.steps.size(); ++i) {
      BOOST_TEST(same_bytes(other.steps[i], longest.steps[i]), "parameters after step " << i);
    }
    BOOST_TEST_REQUIRE(other.values.size() == outcomes[0].values.size());
    for (std::size_t i = 0; i < other.values.size(); ++i) {
      BOOST_TEST(same_bytes(other.values[i], outcomes[0].values[i]), "value " << i);
    }
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(gradients_of_replicas_and_of_the_remote_part_equal_those_of_one_process, OnSharedCluster,
                        *label("H-01")) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 1), batches_of(1, 1), batches_of(2, 1)};
  const Twin twin(0.5);
  for (const Wrapped wrapped : {Wrapped::nothing, Wrapped::local_part, Wrapped::whole}) {
    ReplicaPlan plan{.members = kMembers, .batches = {}, .wrapped = wrapped};
    // Alone, every member would have values of its own: only rank 0's are those of the twin.
    const auto outcomes = run_all(trainer, plan, batches, far);
    const Tensors together = twin.means({batches[0][0], batches[1][0], batches[2][0]}, 3.0);
    for (std::size_t rank = 0; rank < kMembers.size(); ++rank) {
      if (wrapped == Wrapped::nothing && rank > 0) continue;
      const Tensors alone = twin.gradients(batches[rank][0]);
      check_gradients(outcomes[rank].gradients.at(0), wrapped == Wrapped::nothing ? alone : together);
      BOOST_TEST(close(outcomes[rank].far_gradients.at(0), alone.back()));  // each trainer's own, not a mean
    }
  }
}

BOOST_FIXTURE_TEST_CASE(members_without_input_join_and_the_others_go_on, OnSharedCluster, *label("H-02")) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 1), batches_of(1, 3), batches_of(2, 0)};
  for (const bool by_active : {false, true}) {
    ReplicaPlan plan{.members = kMembers, .batches = {}, .joins = true, .divides_by_active = by_active, .rate = 0.5};
    const auto outcomes = run_all(trainer, plan, batches, far);
    const Twin twin(0.5);
    const Tensors first = twin.means({batches[0][0], batches[1][0]}, by_active ? 2.0 : 3.0);
    check_gradients(outcomes[0].gradients.at(0), first);
    check_gradients(outcomes[1].gradients.at(0), first);
    twin.step(first, 0.5);
    for (const std::size_t round : {1U, 2U}) {
      const Tensors alone = twin.means({batches[1][round]}, by_active ? 1.0 : 3.0);
      check_gradients(outcomes[1].gradients.at(round), alone);
      twin.step(alone, 0.5);
    }
    check_equal(outcomes);
    for (std::size_t i = 0; i < twin.parameters().size(); ++i) {
      BOOST_TEST(close(outcomes[2].values[i], twin.parameters()[i].value()));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(training_of_replicas_equals_that_of_one_process_over_several_steps, OnSharedCluster,
                        *label("H-03")) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 4), batches_of(1, 4), batches_of(2, 4)};
  const auto outcomes = run_all(trainer, {.members = kMembers, .batches = {}, .rate = 0.5}, batches, far);
  const Twin twin(0.5);
  for (std::size_t step = 0; step < 4; ++step) {
    const Tensors means = twin.means({batches[0][step], batches[1][step], batches[2][step]}, 3.0);
    for (const ReplicaOutcome& outcome : outcomes) check_gradients(outcome.gradients.at(step), means);
    twin.step(means, 0.5);
  }
  check_equal(outcomes);
}

BOOST_FIXTURE_TEST_CASE(rounds_of_passes_with_an_input_have_its_mean_gradient_and_no_other, OnSharedCluster) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 2), batches_of(1, 2), batches_of(2, 2)};
  const Twin twin(0.5);
  const std::size_t chosen = 1;  // the weight of the first layer
  const auto outcomes =
      run_all(trainer, {.members = kMembers, .batches = {}, .rate = 0.5, .only_input = chosen}, batches, far);
  for (std::size_t round = 0; round < 2; ++round) {
    Tensors means = twin.means({batches[0][round], batches[1][round], batches[2][round]}, 3.0);
    for (std::size_t i = 0; i < means.size(); ++i) {
      if (i != chosen) means[i] = Tensor();
    }
    for (const ReplicaOutcome& outcome : outcomes) {
      check_gradients(outcome.gradients.at(round), means);
      BOOST_TEST(!outcome.far_gradients.at(round).defined());
    }
    twin.step(means, 0.5);
  }
  check_equal(outcomes);
}

BOOST_FIXTURE_TEST_CASE(gradients_that_are_rows_of_a_table_stay_rows, OnSharedCluster, *label("H-04")) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 3), batches_of(1, 3), batches_of(2, 3)};
  const auto dense = run_all(trainer, {.members = kMembers, .batches = {}, .rate = 0.5}, batches, far);
  const auto sparse = run_all(trainer, {.members = kMembers, .batches = {}, .sparse = true, .rate = 0.5}, batches, far);
  for (std::size_t rank = 0; rank < kMembers.size(); ++rank) {
    BOOST_TEST(!dense[rank].rows_stayed);
    BOOST_TEST(sparse[rank].rows_stayed);
    for (std::size_t step = 0; step < 3; ++step) {
      check_gradients(sparse[rank].gradients.at(step), dense[rank].gradients.at(step));
    }
  }
  check_equal(sparse);
}

BOOST_FIXTURE_TEST_CASE(a_part_of_the_network_is_here_or_on_another_node, OnSharedCluster, *label("H-05")) {
  const std::vector<Tensors> batches{batches_of(0, 2), batches_of(1, 2)};
  const ReplicaPlan plan{.members = {"p1", "p2"}, .batches = {}, .wrapped = Wrapped::whole, .rate = 0.5};
  const Leaf near = trainer.remote("p1", &make_leaf, ReplicaNet::kWidth, 0.5);  // on a member itself
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const auto here = run_all(trainer, plan, batches, near);
  const auto there = run_all(trainer, plan, batches, far);
  check_gradients(there[1].gradients[0], Twin(0.5).means({batches[0][0], batches[1][0]}, 2.0));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (std::size_t step = 0; step < 2; ++step) {
      for (std::size_t i = 0; i < here[rank].gradients[step].size(); ++i) {
        BOOST_TEST(same_bytes(here[rank].gradients[step][i], there[rank].gradients[step][i]));
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(gradients_of_several_passes_are_held_for_one_round, OnSharedCluster) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 3), batches_of(1, 3), batches_of(2, 3)};
  Tensors all;
  for (const Tensors& own : batches) all.insert(all.end(), own.begin(), own.end());
  const Tensors means = Twin(0.5).means(all, 3.0);
  for (const bool sparse : {false, true}) {
    for (const auto& outcome :
         run_all(trainer, {.members = kMembers, .batches = {}, .sparse = sparse, .holds = true}, batches, far)) {
      for (const Tensor& held : outcome.gradients.at(0)) BOOST_TEST(held.numel() == 0);
      check_gradients(outcome.gradients.at(2), means);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(buffers_of_all_members_are_those_of_the_first, OnSharedCluster) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 2), batches_of(1, 2), batches_of(2, 2)};
  const auto outcomes =
      run_all(trainer, {.members = kMembers, .batches = {}, .with_norm = true, .rate = 0.5}, batches, far);
  check_equal(outcomes);
}

// The member fails at each of its gradients in turn, or after all of them (-1), and in its first, second or last round.
BOOST_FIXTURE_TEST_CASE(failed_pass_of_one_member_fails_the_round_of_all_and_the_next_round_works, OnSharedCluster) {
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const std::vector<Tensors> batches{batches_of(0, 3), batches_of(1, 3), batches_of(2, 3)};
  for (const std::int64_t parameter : {-1, 0, 1, 2, 5, 6}) {  // 3 and 4 have no gradient
    const std::string boom = parameter < 0 ? "boom after 5 gradients" : "boom";
    for (const std::int64_t at : {0, 1, 2}) {
      const auto outcomes =
          run_all(trainer, {.members = kMembers, .batches = {}, .rate = 0.5, .fails_at = at, .fails_in = parameter},
                  batches, far);
      for (std::size_t rank = 0; rank < kMembers.size(); ++rank) {
        BOOST_TEST(outcomes[rank].gradients.size() == 2U);
        BOOST_TEST_REQUIRE(outcomes[rank].errors.size() == 1U);
        const std::string want =
            rank == 1
                ? "remote_exception p2: [backward] hook on leaf: " + boom
                : "remote_exception p2: [DataParallel] the backward pass of p2 failed, so no member has gradients "
                  "of this round: backward on p2: remote_exception: [backward] hook on leaf: " +
                      boom;
        BOOST_TEST(outcomes[rank].errors[0] == want);
      }
      const Twin twin(0.5);
      for (const std::size_t right : {0U, 1U}) {
        const std::size_t round = right + (static_cast<std::int64_t>(right) >= at ? 1 : 0);
        const Tensors means = twin.means({batches[0][round], batches[1][round], batches[2][round]}, 3.0);
        for (const ReplicaOutcome& outcome : outcomes) check_gradients(outcome.gradients.at(right), means);
        twin.step(means, 0.5);
      }
      check_equal(outcomes);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(members_with_different_modules_are_told_the_first_difference, OnSharedCluster) {
  ReplicaPlan plan{.members = {"p1", "p2"}, .batches = {}};
  const Leaf far = trainer.remote("p4", &make_leaf, ReplicaNet::kWidth, 0.5);
  const auto first = trainer.rpc_async("p1", &run_replica, plan, far);
  plan.with_norm = true;
  const auto second = trainer.rpc_async("p2", &run_replica, plan, far);
  for (const auto& one : {first, second}) {
    const Error error = error_of([&] { static_cast<void>(one.get()); });
    BOOST_TEST(error.message ==
               "[DataParallel] members have different modules: p1 has parameter unused.weight f32 (2, 2), p2 has "
               "parameter norm.weight f32 (5)");
  }
}

BOOST_FIXTURE_TEST_CASE(misuse_is_refused, OnSharedCluster) {
  const auto alone = gloo_collective(trainer, Group({"trainer"}));
  const auto net = std::make_shared<ReplicaNet>(1, false, false);
  const auto make = [&](const std::shared_ptr<Collective>& members, const std::shared_ptr<ReplicaNet>& module) {
    return DataParallel(trainer, members, module);
  };
  expect_throw<std::invalid_argument>([&] { make(nullptr, net); }, "[DataParallel] the collective is null");
  expect_throw<std::invalid_argument>([&] { make(alone, nullptr); }, "[DataParallel] the module is null");
  net->freeze();
  expect_throw<std::invalid_argument>([&] { make(alone, net); },
                                      "[DataParallel] no parameter of the module requires a gradient");
  net->unfreeze();
  const DataParallel replica = make(alone, net);
  expect_throw<std::logic_error>([&] { replica.synchronize(trainer); },
                                 "[DataParallel] the scope has no autograd context: call through a DistContext");
}

BOOST_FIXTURE_TEST_CASE(passes_of_two_contexts_at_the_same_time_are_refused, OnSharedCluster) {
  const auto net = std::make_shared<ReplicaNet>(1, false, false);
  const DataParallel replica(trainer, gloo_collective(trainer, Group({"trainer"})), net);
  const DistContext outer(trainer);
  replica.synchronize(outer);
  const Variable result = sum(net->local_part(words({1, 2})));
  std::string inner_error;
  const HookHandle hook = result.register_hook([&](const Tensor&) {
    const DistContext inner(trainer);
    replica.synchronize(inner);
    const Error error = error_of([&] { backward(inner, sum(net->local_part(words({3})))); });
    inner_error = error.message;
    BOOST_TEST(error.code == ErrorCode::bad_argument);
  });
  backward(outer, result);
  BOOST_TEST(inner_error ==
             "[DataParallel] passes of two contexts at the same time: members could not tell them apart");
  BOOST_TEST(outer.grad(net->last_layer().weight()).defined());
}

BOOST_AUTO_TEST_CASE(death_of_a_member_fails_all_others_with_its_name) {
  TestCluster cluster({"p1", "p2", "p3"});
  const Names members{"p1", "p2", "p3"};
  std::vector<Future<std::string>> trained;
  for (const NodeName& name : members) {
    trained.push_back(cluster.trainer().rpc_async(name, &train_replica_until_failure, members));
  }
  for (const NodeName& name : members) cluster.await_calls(name, 1);
  const auto signal = std::chrono::steady_clock::now();
  cluster.kill("p2");
  for (const std::size_t survivor : {0U, 2U}) BOOST_TEST(trained[survivor].get() == "peer_down p2");
  // A process that ends is noticed when its connections break: long before its lease is over.
  BOOST_TEST((std::chrono::steady_clock::now() - signal < NodeOptions{}.liveness.lease / 2));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
