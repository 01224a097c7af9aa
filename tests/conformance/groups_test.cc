// Several nodes at once: calls to all, barriers, trees; with slow, absent or dead members.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/group.h"
#include "tensor/create.h"
#include "tests/conformance/group_functions.h"
#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using Names = std::vector<NodeName>;

const Names kEverybody{"trainer", "p1", "p2", "p3", "p4"};

Names keys(const auto& map) {
  Names keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

BOOST_AUTO_TEST_SUITE(groups)

BOOST_AUTO_TEST_SUITE(shared, *boost::unit_test::fixture<SharedCluster>())

BOOST_FIXTURE_TEST_CASE(every_member_answers_under_its_name, OnSharedCluster) {
  const Gathered<NodeName> answers = trainer.group(kEverybody).call_all(trainer, &where);
  BOOST_TEST(answers.complete());
  BOOST_TEST(answers.values.size() == 5U);
  for (const auto& [name, value] : answers.values) BOOST_TEST(value == name);
}

BOOST_FIXTURE_TEST_CASE(role_is_a_group_by_rank, OnSharedCluster) {
  Names names = trainer.role("p").names();
  for (std::size_t i = 1; i < names.size(); ++i)
    BOOST_TEST(trainer.info(names[i - 1]).rank < trainer.info(names[i]).rank);
  std::sort(names.begin(), names.end());
  BOOST_TEST((names == Names{"p1", "p2", "p3", "p4"}));
  BOOST_TEST((trainer.role("trainer").names() == Names{"trainer"}));
  BOOST_TEST(trainer.group().size() == 5U);
}

BOOST_FIXTURE_TEST_CASE(unknown_role_is_an_error_that_names_those_there_are, OnSharedCluster) {
  const Error error = error_of([&] { return trainer.role("ps"); });
  BOOST_TEST(error.code == ErrorCode::not_joined);
  BOOST_TEST(error.message == "no member that is up has the role \"ps\"; the roles are: p, trainer");
}

BOOST_AUTO_TEST_CASE(group_of_nobody_or_of_one_twice_is_refused) {
  BOOST_CHECK_THROW(Group(Names{}), std::invalid_argument);
  BOOST_CHECK_THROW(Group(Names{"p1", "p1"}), std::invalid_argument);
}

BOOST_FIXTURE_TEST_CASE(first_failure_ends_the_call_without_waiting_for_the_rest, OnSharedCluster) {
  const auto begin = std::chrono::steady_clock::now();
  const Error error = error_of([&] {
    return trainer.group({"p1", "p2", "p3"}).call_all(trainer, &fail_or_wait, "p2");
  });
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 10s));
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.peer == "p2");
  BOOST_TEST(error.message == "p2 fails");
}

BOOST_FIXTURE_TEST_CASE(partial_group_names_who_failed_beside_the_results, OnSharedCluster) {
  const auto answers = trainer.group({"p1", "p2", "p3"}).partial().call_all(trainer, &fail_on_name, "p2");
  BOOST_TEST((keys(answers.values) == Names{"p1", "p3"}));
  BOOST_TEST((keys(answers.failures) == Names{"p2"}));
  BOOST_TEST(answers.failures.at("p2").message == "p2 fails");
}

BOOST_FIXTURE_TEST_CASE(first_result_of_any_member_is_taken_and_the_others_are_cancelled, OnSharedCluster) {
  const auto answer = trainer.group({"p1", "p2", "p3"}).call_any(trainer, &wait_unless, "p2");
  BOOST_TEST(answer.from == "p2");
  BOOST_TEST(answer.value == "p2");
  // The others were cancelled: the fixture checks that no call is left.
}

BOOST_FIXTURE_TEST_CASE(call_to_any_fails_only_if_all_fail_and_tells_of_each, OnSharedCluster) {
  const Error error = error_of([&] { return trainer.group({"p1", "p2"}).call_any(trainer, &throw_text, "no"); });
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.cause.find("p2: ") == 0U, error.cause);
}

BOOST_FIXTURE_TEST_CASE(calls_to_one_take_turns, OnSharedCluster) {
  const Group group = trainer.group({"p1", "p2", "p3"});
  std::map<NodeName, int> calls;
  for (int i = 0; i < 6; ++i) {
    const auto answer = group.call_one(trainer, &where);
    BOOST_TEST(answer.value == answer.from);
    ++calls[answer.from];
  }
  BOOST_TEST((calls == std::map<NodeName, int>{{"p1", 2}, {"p2", 2}, {"p3", 2}}));
}

BOOST_FIXTURE_TEST_CASE(call_to_one_goes_on_to_the_next_only_if_it_did_not_run, OnSharedCluster) {
  BOOST_TEST(trainer.group({"nobody", "p1"}).call_one(trainer, &where).from == "p1");
  const Error error = error_of([&] { return trainer.group({"p2", "p1"}).call_one(trainer, &throw_text, "it ran"); });
  BOOST_TEST(error.peer == "p2");
}

BOOST_FIXTURE_TEST_CASE(registered_exception_of_a_member_is_thrown_as_its_type, OnSharedCluster) {
  const Group group = trainer.group({"p1", "p2"});
  const auto is_of_row_7 = [](const NoSuchRow& missing) { return missing.row == 7; };
  BOOST_CHECK_EXCEPTION(group.call_all(trainer, &lookup, "t", 7), NoSuchRow, is_of_row_7);
  BOOST_CHECK_EXCEPTION(static_cast<void>(group.call_one(trainer, &lookup, "t", 7)), NoSuchRow, is_of_row_7);
  const Error error = error_of([&] { return group.call_any(trainer, &lookup, "t", 7); });
  BOOST_TEST(error.exception_type == "troupe::testing::NoSuchRow");
}

BOOST_FIXTURE_TEST_CASE(tree_call_reaches_all, OnSharedCluster) {
  const auto answers = trainer.group(kEverybody).call_tree<&where>(trainer);
  BOOST_TEST(answers.values.size() == 5U);
  for (const auto& [name, value] : answers.values) BOOST_TEST(value == name);
}

BOOST_FIXTURE_TEST_CASE(tree_call_sends_its_arguments_at_most_twice_from_any_node, OnSharedCluster) {
  const auto sent = [](const DebugInfo& info) {
    std::uint64_t calls = 0;
    for (const auto& [peer, traffic] : info.traffic.value()) calls += traffic.calls_sent;
    return calls;
  };
  const std::uint64_t before = sent(trainer.debug_info());
  const auto sums = trainer.group({"p1", "p2", "p3", "p4"}).call_tree<&sum_of>(trainer, ones({1000}));
  BOOST_TEST(sums.values.size() == 4U);
  for (const auto& [name, sum] : sums.values) BOOST_TEST(sum == 1000.0);
  BOOST_TEST(sent(trainer.debug_info()) - before == 1U);
}

BOOST_FIXTURE_TEST_CASE(results_are_reduced_on_their_way_back_in_the_order_of_the_names_given, OnSharedCluster) {
  const auto joined =
      trainer.group({"p3", "p1", "trainer", "p4", "p2"}).call_tree_reduced<&where, &join_with_plus>(trainer);
  BOOST_TEST(joined.value == "p3+p1+trainer+p4+p2");
}

BOOST_FIXTURE_TEST_CASE(tree_with_a_failing_member_names_it, OnSharedCluster) {
  const Group group = trainer.group(kEverybody);
  BOOST_TEST(error_of([&] { return group.call_tree<&fail_on_name>(trainer, "p3"); }).peer == "p3");
  const auto partial = group.partial().call_tree<&fail_on_name>(trainer, "p3");
  BOOST_TEST(partial.values.size() == 4U);
  BOOST_TEST(partial.failures.at("p3").message == "p3 fails");
  const auto counted = group.partial().call_tree_reduced<&fail_on_name, &join_with_plus>(trainer, "p3");
  BOOST_TEST(counted.value == "trainer+p1+p2+p4");
  BOOST_TEST((keys(counted.failures) == Names{"p3"}));
}

BOOST_FIXTURE_TEST_CASE(member_that_is_not_there_does_not_take_those_below_it_along, OnSharedCluster) {
  const auto answers = trainer.group({"nobody", "p1", "p2", "p3"}).partial().call_tree<&where>(trainer);
  BOOST_TEST((keys(answers.values) == Names{"p1", "p2", "p3"}));
  BOOST_TEST(answers.failures.at("nobody").code == ErrorCode::not_joined);
}

// Barriers.

/// Returns the values of the futures.
template <class T>
std::vector<T> all(const std::vector<Future<T>>& futures) {
  std::vector<T> values;
  for (const Future<T>& future : futures) values.push_back(future.get());
  return values;
}

BOOST_FIXTURE_TEST_CASE(everyone_gathers_what_everyone_gave, OnSharedCluster, *label("S-01")) {
  std::map<NodeName, WorkerInfo> expected;
  for (const NodeName& name : kEverybody) expected[name] = trainer.info(name);
  for (int round = 0; round < 3; ++round) {
    std::vector<Future<std::map<NodeName, WorkerInfo>>> others;
    for (const NodeName& name : cluster.others()) others.push_back(trainer.rpc_async(name, &gather_infos, kEverybody));
    BOOST_TEST((trainer.group(kEverybody).all_gather(trainer, trainer.info()).values == expected));
    for (const auto& gathered : all(others)) BOOST_TEST((gathered == expected));
  }
}

BOOST_FIXTURE_TEST_CASE(gather_gives_the_values_to_one_member_only, OnSharedCluster) {
  const Names members{"p1", "p2", "p3"};
  std::vector<Future<std::map<NodeName, std::int64_t>>> futures;
  for (const NodeName& name : members) futures.push_back(trainer.rpc_async(name, &gather_ranks_at, members, "p2"));
  const auto gathered = all(futures);
  BOOST_TEST(gathered[0].empty());
  BOOST_TEST((keys(gathered[1]) == members));
  for (const auto& [name, rank] : gathered[1]) BOOST_TEST(rank == trainer.info(name).rank);
  BOOST_TEST(gathered[2].empty());
}

BOOST_FIXTURE_TEST_CASE(gather_that_takes_too_long_names_itself_its_limit_and_who_is_late, OnSharedCluster,
                        *label("S-02")) {
  const Names members{"p1", "p2", "p3"};  // p3 does not enter
  const auto begin = std::chrono::steady_clock::now();
  const auto leader = trainer.rpc_async("p1", &gather_within, members, 100);
  const auto follower = trainer.rpc_async("p2", &gather_within, members, 100);
  for (const std::string& text : all(std::vector{leader, follower})) {
    constexpr std::string_view kBegin = "timed out in all_gather after ";
    BOOST_TEST_REQUIRE(text.starts_with(kBegin), text);
    BOOST_TEST(std::stod(text.substr(kBegin.size())) >= 0.1, text);
    BOOST_TEST(text.ends_with("p3 did not come"), text);
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 5s));
}

/// Members that pass barriers together. Each adds 1 to `counter` before each barrier, and reads it after that.
class Passing {
 public:
  Passing(Node& trainer, Names group) : trainer_(trainer), group_(std::move(group)), counter_(trainer, Counter()) {}

  /// Lets all members pass `rounds` barriers.
  void begin(std::int32_t rounds) {
    for (const NodeName& name : group_)
      seen_.push_back(trainer_.rpc_async(name, &pass_barriers, group_, counter_, rounds));
  }

  /// Checks that no member passed a barrier that `begin` began before all others had entered it.
  void check() {
    const auto members = static_cast<std::int64_t>(group_.size());
    std::int64_t rounds = 0;
    for (const auto& seen : all(std::exchange(seen_, {}))) {
      rounds = std::ssize(seen);
      for (std::int64_t r = 0; r < rounds; ++r)
        BOOST_TEST(seen[static_cast<std::size_t>(r)] >= added_ + members * (r + 1));
    }
    added_ += members * rounds;
    BOOST_TEST(counter_.local_value(trainer_)->value() == added_);
  }

 private:
  Node& trainer_;
  Names group_;
  RRef<Counter> counter_;
  std::int64_t added_ = 0;  // in the rounds that were checked
  std::vector<Future<std::vector<std::int64_t>>> seen_;
};

BOOST_FIXTURE_TEST_CASE(nobody_passes_the_barrier_of_all_early, OnSharedCluster, *label("S-03")) {
  Passing everybody(trainer, kEverybody);
  everybody.begin(4);
  everybody.check();
}

BOOST_FIXTURE_TEST_CASE(barriers_of_different_groups_do_not_mix, OnSharedCluster, *label("S-03")) {
  Passing odd(trainer, {"p1", "p3"});
  Passing even(trainer, {"p2", "p4"});
  odd.begin(5);
  odd.check();  // p2 and p4 do not take part
  odd.begin(5);
  even.begin(5);
  odd.check();
  even.check();
}

BOOST_FIXTURE_TEST_CASE(several_threads_of_a_node_meet_different_groups_at_once, OnSharedCluster, *label("S-03")) {
  std::vector<Passing> all_groups;
  for (const Names& group : {Names{"p1", "p2"}, Names{"p1", "p3"}, Names{"p1", "p4"}, Names{"p1", "p2", "p3"}})
    all_groups.emplace_back(trainer, group);
  for (Passing& group : all_groups) group.begin(3);
  for (Passing& group : all_groups) group.check();
}

BOOST_FIXTURE_TEST_CASE(waiting_for_all_nodes_ends_under_load_and_twice_in_a_row, OnSharedCluster, *label("S-04")) {
  const RRef<Counter> counter(trainer, Counter());
  for (int wave = 1; wave <= 2; ++wave) {
    std::vector<Future<std::int64_t>> load;
    for (const NodeName& name : cluster.others()) {
      for (std::int64_t i = 0; i < 30; ++i) load.push_back(trainer.rpc_async(name, &square_on_and_one, "trainer", i));
    }
    std::vector<Future<std::vector<std::int64_t>>> waiting;
    for (const NodeName& name : kEverybody)
      waiting.push_back(trainer.rpc_async(name, &pass_barriers, kEverybody, counter, 1));
    for (const auto& seen : all(waiting)) BOOST_TEST(seen.front() >= 5 * wave);
    for (std::size_t i = 0; i < load.size(); ++i) {
      const auto x = static_cast<std::int64_t>(i % 30);
      BOOST_TEST(load[i].get() == x * x + 1);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(values_of_another_type_are_refused_with_the_name_of_who_brought_them, OnSharedCluster) {
  const Names members{"p1", "trainer"};
  const Future<void> other = trainer.rpc_async("p1", &gather_text, members);
  const Error error = error_of([&] { return trainer.group(members).all_gather(trainer, 5); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.peer == "p1");
  BOOST_TEST(error.message == "it brought a value of another type");
  BOOST_TEST(error.execution == Execution::never);
  BOOST_TEST(error_of([&] { return other.get(), 0; }).code == ErrorCode::remote_exception);
}

BOOST_FIXTURE_TEST_CASE(references_and_gradients_are_not_for_everybody, OnSharedCluster) {
  const RRef<Tensor> mine(trainer, ones({1}));
  const Error error = error_of([&] { return trainer.group({"trainer"}).all_gather(trainer, mine); });
  BOOST_TEST(error.code == ErrorCode::not_serializable);
}

BOOST_FIXTURE_TEST_CASE(who_is_no_member_cannot_wait_with_a_group, OnSharedCluster) {
  BOOST_CHECK_THROW(trainer.group({"p1", "p2"}).barrier(trainer), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(trainer.group({"trainer", "p2"}).gather(trainer, "p1", 1)),
                    std::invalid_argument);
}

BOOST_FIXTURE_TEST_CASE(member_that_never_joined_fails_the_barrier_at_once, OnSharedCluster) {
  BOOST_TEST(trainer.rpc_sync("p1", &wait_at_barrier, Names{"p1", "nobody"}, false) == "nobody: not_joined");
  BOOST_TEST(trainer.rpc_sync("p1", &wait_at_barrier, Names{"p1", "nobody"}, true) == "nobody: not_joined");
}

BOOST_AUTO_TEST_SUITE_END()

/// Waits until the node awaits an answer: it has entered the barrier.
void await_entered(TestCluster& cluster, const NodeName& name) {
  cluster.await(name, [](const Counts& counts) { return counts.pending_requests == 1; });
}

BOOST_AUTO_TEST_CASE(barrier_that_was_cancelled_meets_nobody) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const Names members{"p1", "p2"};
  const auto given_up = trainer.rpc_async("p2", &wait_at_barrier, members, false);
  await_entered(cluster, "p2");
  BOOST_TEST(given_up.cancel());
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (trainer.rpc_sync("p1", &meetings_here) > 0) BOOST_REQUIRE(std::chrono::steady_clock::now() < due);
  const auto first = trainer.rpc_async("p1", &wait_at_barrier, members, false);
  await_entered(cluster, "p1");
  const auto second = trainer.rpc_async("p2", &wait_at_barrier, members, false);
  BOOST_TEST(first.get().empty());
  BOOST_TEST(second.get().empty());
}

BOOST_AUTO_TEST_CASE(death_of_a_member_ends_the_barrier_of_a_group_that_fails_fast) {
  TestCluster cluster({"p1", "p2", "p3"});
  Node& trainer = cluster.trainer();
  const Names members{"p1", "p2", "p3"};
  const auto first = trainer.rpc_async("p1", &wait_at_barrier, members, false);
  const auto second = trainer.rpc_async("p2", &wait_at_barrier, members, false);
  await_entered(cluster, "p1");
  await_entered(cluster, "p2");
  cluster.kill("p3");
  BOOST_TEST(first.get() == "p3: peer_down");
  BOOST_TEST(second.get() == "p3: peer_down");
}

BOOST_AUTO_TEST_CASE(partial_barrier_goes_on_when_a_member_dies_also_if_it_was_where_they_met) {
  TestCluster cluster({"p1", "p2", "p3"});
  Node& trainer = cluster.trainer();
  const Names members{"p1", "p2", "p3", "trainer"};
  const auto third = trainer.rpc_async("p3", &wait_at_barrier, members, true);
  const auto second = trainer.rpc_async("p2", &wait_at_barrier, members, true);
  await_entered(cluster, "p3");
  await_entered(cluster, "p2");
  cluster.kill("p1");
  const auto left_out = trainer.group(members).partial().barrier(trainer);
  BOOST_TEST((keys(left_out) == Names{"p1"}));
  BOOST_TEST(left_out.at("p1").code == ErrorCode::peer_down);
  BOOST_TEST(second.get() == "p1: peer_down");
  BOOST_TEST(third.get() == "p1: peer_down");
}

BOOST_AUTO_TEST_CASE(dead_member_is_named_by_calls_to_all) {
  TestCluster cluster({"p1", "p2", "p3"});
  Node& trainer = cluster.trainer();
  const Group group = trainer.role("p");
  cluster.kill("p2");
  BOOST_TEST(error_of([&] { return group.call_all(trainer, &where); }).peer == "p2");
  const auto answers = group.partial().call_all(trainer, &where);
  BOOST_TEST((keys(answers.values) == Names{"p1", "p3"}));
  BOOST_TEST(answers.failures.at("p2").code == ErrorCode::peer_down);
  BOOST_TEST(trainer.role("p").size() == 2U);
}

BOOST_AUTO_TEST_CASE(member_that_dies_in_a_tree_takes_the_results_below_it_along) {
  TestCluster cluster({"p1", "p2", "p3"});
  Node& trainer = cluster.trainer();
  auto call = std::async(std::launch::async, [&trainer] {
    return trainer.group({"p1", "p2", "p3"}).partial().call_tree<&wait_until_stopped>(trainer);
  });
  for (const char* name : {"p2", "p3"}) cluster.await_calls(name, 2);  // one call of the tree and one of the function
  cluster.kill("p1");
  const auto answers = call.get();
  BOOST_TEST((keys(answers.failures) == Names{"p1", "p2", "p3"}));
  for (const auto& [name, error] : answers.failures) BOOST_TEST(error.peer == "p1");
  cluster.expect_settled();  // the nodes below in the tree were cancelled
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
