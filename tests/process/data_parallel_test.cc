// A member of a data-parallel group that stops or dies in the middle of a round.
#include "actors/data_parallel.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tests/conformance/replica_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(data_parallel_processes)

namespace {

using boost::unit_test::label;

constexpr std::int64_t kRounds = 4;
constexpr std::int64_t kBroken = 2;                // the round in which p2 raises a signal
constexpr std::chrono::milliseconds kLease{2000};  // for tests that wait until it has passed

/// Three members that train a network, p2 of which raises a signal at the gradient of its first layer's weight.
class Training {
 public:
  explicit Training(int signal, std::chrono::milliseconds lease = Liveness{}.lease) : cluster_(plan_of(lease)) {
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      ReplicaPlan plan{.members = {"p1", "p2", "p3"}, .batches = {}, .rate = 0.5};
      for (std::int64_t round = 0; round < kRounds; ++round) {
        plan.batches.push_back(full({4}, static_cast<double>((rank + round) % ReplicaNet::kWords), DType::i64));
      }
      if (rank == 1) {
        plan.fails_at = kBroken;
        plan.fails_in = 1;
        plan.signal = signal;
      }
      outcomes_.push_back(
          cluster_.trainer().rpc_async(plan.members[static_cast<std::size_t>(rank)], &run_replica, plan, far_));
    }
  }

  [[nodiscard]] TestCluster& cluster() { return cluster_; }
  [[nodiscard]] const Future<ReplicaOutcome>& of(std::size_t rank) const { return outcomes_[rank]; }

  /// Returns when p2 has stopped or ended.
  void await_signal() {
    siginfo_t signalled{};
    const auto process = static_cast<id_t>(cluster_.process("p2").pid());
    BOOST_REQUIRE(::waitid(P_PID, process, &signalled, WSTOPPED | WEXITED | WNOWAIT) == 0);
  }

 private:
  static ProcessPlan plan_of(std::chrono::milliseconds lease) {
    ProcessPlan plan;
    plan.trainer.liveness.lease = lease;
    for (const char* name : {"p1", "p2", "p3"})
      plan.others.push_back({.name = name, .liveness = plan.trainer.liveness});
    return plan;
  }

  TestCluster cluster_;
  Leaf far_{cluster_.trainer().remote("p1", &make_leaf, ReplicaNet::kWidth, 0.5)};
  std::vector<Future<ReplicaOutcome>> outcomes_;
};

/// Checks that the survivors have the rounds before the broken one, with equal parameters, and no round after it.
/// Returns the time from now to the end of both.
std::chrono::milliseconds check_survivors(const Training& training) {
  const auto begin = std::chrono::steady_clock::now();
  const ReplicaOutcome first = training.of(0).get();
  const ReplicaOutcome third = training.of(2).get();
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  BOOST_TEST(first.steps.size() == static_cast<std::size_t>(kBroken));
  BOOST_TEST_REQUIRE(third.steps.size() == first.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i) BOOST_TEST(same_bytes(first.steps[i], third.steps[i]));
  for (const ReplicaOutcome& outcome : {first, third}) {
    BOOST_TEST_REQUIRE(outcome.errors.size() == static_cast<std::size_t>(kRounds - kBroken));
    for (const std::string& error : outcome.errors) BOOST_TEST(error.starts_with("peer_down p2: "), error);
  }
  return took;
}

}  // namespace

BOOST_AUTO_TEST_CASE(member_that_stops_in_a_bucket_goes_on_and_parameters_are_equal_after_every_step,
                     *label("fault-F13")) {
  Training training(SIGSTOP);
  training.await_signal();
  const Scope impatient = training.cluster().trainer().with({.unreachable = Unreachable::fail});
  const Error silent = error_of([&] { impatient.rpc_sync("p2", &square, 3); });
  BOOST_TEST(silent.code == ErrorCode::peer_unreachable);
  training.cluster().signal("p2", SIGCONT);
  const ReplicaOutcome first = training.of(0).get();
  BOOST_TEST(first.steps.size() == static_cast<std::size_t>(kRounds));
  for (const std::size_t rank : {1U, 2U}) {
    const ReplicaOutcome other = training.of(rank).get();
    BOOST_TEST_REQUIRE(other.steps.size() == first.steps.size());
    for (std::size_t i = 0; i < first.steps.size(); ++i) BOOST_TEST(same_bytes(other.steps[i], first.steps[i]));
  }
}

BOOST_AUTO_TEST_CASE(member_that_stays_stopped_in_a_bucket_fails_the_others_after_its_lease, *label("fault-F13")) {
  Training training(SIGSTOP, kLease);
  training.await_signal();
  BOOST_TEST(check_survivors(training).count() < 7 * kLease.count() / 4);  // less than two leases
  training.cluster().signal("p2", SIGCONT);
}

BOOST_AUTO_TEST_CASE(member_that_is_killed_in_a_bucket_fails_the_others, *label("fault-F12")) {
  Training training(SIGKILL);
  training.await_signal();
  BOOST_TEST(check_survivors(training).count() < kLease.count());  // its connections break at once
  training.cluster().kill("p2");                                   // the cluster expects no clean end of it
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
