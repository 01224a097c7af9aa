// Membership: names, ranks, and each node's own counts.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "actors/dist_autograd.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/conformance/group_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(membership)
BOOST_AUTO_TEST_SUITE(shared, *boost::unit_test::fixture<SharedCluster>())

BOOST_FIXTURE_TEST_CASE(every_node_knows_its_own_name_and_rank_and_those_of_all_others, OnSharedCluster,
                        *label("I-01")) {
  BOOST_TEST(trainer.info().name == "trainer");
  BOOST_TEST((trainer.info() == trainer.info("trainer")));
  for (const WorkerInfo& info : trainer.infos()) {
    BOOST_TEST((trainer.info(info.name) == info));
    BOOST_TEST((trainer.info(std::int64_t{info.rank}) == info));
    BOOST_TEST((trainer.rpc_sync(info.name, &info_of_name, info.name) == info));
    for (const NodeName& other : cluster.others()) {
      BOOST_TEST((trainer.rpc_sync(other, &info_of_name, info.name) == info));
      BOOST_TEST((trainer.rpc_sync(other, &info_of_rank, std::int64_t{info.rank}) == info));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(every_node_lists_the_same_members, OnSharedCluster, *label("I-02")) {
  const std::vector<WorkerInfo> infos = trainer.infos();
  BOOST_TEST(infos.size() == 5U);
  for (std::uint32_t rank = 0; rank < infos.size(); ++rank) BOOST_TEST(infos[rank].rank == rank);
  std::vector<NodeName> names;
  for (const WorkerInfo& info : infos) names.push_back(info.name);
  std::sort(names.begin(), names.end());
  BOOST_TEST((names == std::vector<NodeName>{"p1", "p2", "p3", "p4", "trainer"}));
  for (const NodeName& other : cluster.others()) BOOST_TEST((trainer.rpc_sync(other, &infos_here) == infos));
}

BOOST_FIXTURE_TEST_CASE(worker_info_arrives_equal_when_sent_in_a_call, OnSharedCluster, *label("I-03")) {
  const std::vector<WorkerInfo> infos = trainer.infos();
  const std::vector<WorkerInfo> back = trainer.rpc_sync("p1", &echo_infos, infos);
  BOOST_TEST((back == infos));
  std::unordered_set<WorkerInfo> set(infos.begin(), infos.end());
  for (const WorkerInfo& info : back) BOOST_TEST(set.contains(info));
  BOOST_TEST((WorkerInfo{"ps0", 1}.text() == "ps0 (rank 1)"));
  BOOST_TEST((WorkerInfo{"ps0", 1} != WorkerInfo{"ps0", 2}));
}

BOOST_FIXTURE_TEST_CASE(unknown_names_and_ranks_are_errors_that_name_the_world, OnSharedCluster) {
  const auto world = [&] {
    std::string text;
    for (const WorkerInfo& info : trainer.infos()) text += (text.empty() ? "" : ", ") + info.text();
    return text;
  }();
  for (const std::int64_t rank : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const Error error = error_of([&] { return trainer.info(rank); });
    BOOST_TEST(error.code == ErrorCode::not_joined);
    BOOST_TEST(error.message == "no member has rank " + std::to_string(rank) + ": the world is " + world);
  }
  BOOST_TEST(error_of([&] { return trainer.info("trainr"); }).message ==
             "no member is called \"trainr\": the world is " + world + ", did you mean \"trainer\"?");
  BOOST_TEST(error_of([&] { return trainer.info("somebody"); }).message ==
             "no member is called \"somebody\": the world is " + world);
  BOOST_TEST(error_of([&] { return trainer.rpc_sync("trainr", &echo_infos, trainer.infos()); }).message ==
             "no node of that name is in this cluster, did you mean \"trainer\"?");
}

BOOST_FIXTURE_TEST_CASE(debug_info_joins_counters_of_references_calls_contexts_and_threads, OnSharedCluster,
                        *label("S-09")) {
  const DebugInfo before = trainer.debug_info();
  BOOST_TEST((before.node == trainer.info()));
  BOOST_TEST(before.owners == 0U);
  BOOST_TEST(before.forks == 0U);
  {
    const RRef<Tensor> mine(trainer, ones({1}));
    const RRef<Tensor> theirs = trainer.remote("p1", &add, ones({1}), 1.0);
    static_cast<void>(theirs.to_here(trainer));
    const DistContext context(trainer);
    const Future<bool> pending = trainer.rpc_async("p2", &wait_until_stopped);
    const Future<bool> own = trainer.rpc_async("trainer", &wait_until_stopped);
    cluster.await("trainer",
                  [](const Counts& counts) { return counts.pending_requests == 2 && counts.served_calls == 1; });
    const DebugInfo during = trainer.debug_info();
    BOOST_TEST(during.owners == 1U);
    BOOST_TEST(during.forks == 1U);
    BOOST_TEST(during.pending_users == 0U);
    BOOST_TEST(during.pending_calls == 2U);
    BOOST_TEST(during.served_calls == 1U);
    BOOST_TEST(during.contexts == 1U);
    BOOST_TEST(during.backward_passes == 0U);
    BOOST_TEST(during.shards == 0U);
    BOOST_TEST(during.traffic.value().size() == 4U);
    BOOST_TEST(during.traffic.value().at("p1").calls_sent - before.traffic.value().at("p1").calls_sent == 2U);
    pending.cancel();
    own.cancel();
  }
  cluster.await("trainer", [](const Counts& counts) { return counts == Counts{}; });
  const std::string text = trainer.debug_info().text();
  for (const char* key :
       {"owners", "forks", "pending_users", "pending_calls", "served_calls", "contexts", "backward_passes", "shards"}) {
    BOOST_TEST(text.find("\n" + std::string(key) + ": 0\n") != std::string::npos, text);
  }
  for (const char* key : {"pool_threads", "threads_busy", "threads_waiting", "threads_idle", "traffic.p1.bytes_sent"}) {
    BOOST_TEST(text.find("\n" + std::string(key) + ": ") != std::string::npos, text);
  }
}

BOOST_FIXTURE_TEST_CASE(bytes_and_calls_are_counted_for_each_peer, OnSharedCluster) {
  const auto of_p1 = [&] { return trainer.debug_info().traffic.value().at("p1"); };
  const PeerTraffic before = of_p1();
  static_cast<void>(trainer.rpc_sync("p1", &echo_tensors, std::vector<Tensor>{ones({1000})}));
  const PeerTraffic after = of_p1();
  BOOST_TEST(after.calls_sent - before.calls_sent == 1U);
  BOOST_TEST(after.bytes_sent - before.bytes_sent >= 4000U);
  BOOST_TEST(after.bytes_received - before.bytes_received >= 4000U);
  BOOST_TEST(after.bytes_sent - before.bytes_sent < 8000U);
  BOOST_TEST(trainer.rpc_sync("p1", &square_on_and_one, "trainer", 2) == 5);
  BOOST_TEST(of_p1().calls_received - after.calls_received == 1U);
}

BOOST_FIXTURE_TEST_CASE(traffic_that_is_switched_off_is_not_reported, OnSharedCluster, *label("S-10")) {
  trainer.measure_traffic(false);
  static_cast<void>(trainer.rpc_sync("p1", &square, 2));
  BOOST_TEST(!trainer.debug_info().traffic);
  BOOST_TEST(trainer.debug_info().text().find("traffic") == std::string::npos);
  trainer.measure_traffic(true);
  BOOST_TEST(trainer.debug_info().traffic.value().at("p2").calls_sent == 0U);
  static_cast<void>(trainer.rpc_sync("p2", &square, 2));
  BOOST_TEST(trainer.debug_info().traffic.value().at("p2").calls_sent == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(number_of_pool_threads_is_the_one_given, *label("I-17")) {
  TestCluster cluster({"p1"}, {.threads = 3, .threads_max = 30});
  Node& trainer = cluster.trainer();
  BOOST_TEST(trainer.debug_info().pool_threads == 3U);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Future<std::int32_t>> computing;
  for (int i = 0; i < 4; ++i) computing.push_back(trainer.rpc_async("trainer", &compute_for, 300));
  cluster.await("trainer", [&](const Counts&) { return trainer.debug_info().threads_busy == 3U; });
  for (const Future<std::int32_t>& one : computing) BOOST_TEST(one.get() == 300);
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 600ms));  // one of the four begins when another has ended
}

BOOST_AUTO_TEST_CASE(world_of_one_calls_itself_in_all_kinds_and_shuts_down, *label("I-09")) {
  TestCluster cluster(std::vector<NodeName>{});
  Node& trainer = cluster.trainer();
  BOOST_TEST((trainer.info() == WorkerInfo{"trainer", 0}));
  BOOST_TEST(trainer.infos().size() == 1U);
  BOOST_TEST(trainer.rpc_sync("trainer", &square, 3) == 9);
  BOOST_TEST(trainer.rpc_async("trainer", &square, 4).get() == 16);
  BOOST_TEST(trainer.remote("trainer", &square, 5).to_here(trainer) == 25);
  trainer.group().barrier(trainer);
  BOOST_TEST(trainer.shutdown().clean());
}

BOOST_AUTO_TEST_CASE(rank_of_a_dead_member_is_remembered_until_another_one_has_it) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  const WorkerInfo dead = trainer.info("p1");
  cluster.kill("p1");
  BOOST_TEST(error_of([&] { return trainer.rpc_sync("p1", &square, 2); }).code == ErrorCode::peer_down);
  BOOST_TEST((trainer.info("p1") == dead));
  BOOST_TEST((trainer.info(std::int64_t{dead.rank}) == dead));
  BOOST_TEST(trainer.infos().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
