// Nodes on two machines joined by a wire: two network namespaces.
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/links/secret.h"
#include "tensor/create.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/network_namespace.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using boost::unit_test::label;
using boost::unit_test::precondition;
using namespace std::chrono_literals;

struct TwoMachines {
  TwoMachines() { join_by_wire(one, other); }

  /// The trainer on `one` and p1 on `other`, listening at the given addresses.
  [[nodiscard]] ProcessPlan plan(const std::string& trainer, const std::string& p1) const {
    ProcessPlan plan{.others = {{.name = "p1", .bind = p1, .network = Network::trusted, .place = other.descriptor()}}};
    plan.trainer.network = Network::trusted;
    plan.trainer.bind = trainer;
    return plan;
  }
  /// Makes both nodes call each other, with more than one packet.
  static void check(TestCluster& cluster, const std::string& trainer, const std::string& p1) {
    Node& node = cluster.trainer();
    BOOST_TEST(node.address().starts_with(trainer), node.address());
    for (const Peer& peer : node.members()) {
      if (peer.name == "p1") BOOST_TEST(peer.address.starts_with(p1), peer.address);
    }
    BOOST_TEST(node.rpc_sync("p1", &filled, 300'000, 1.0).numel() == 300'000);
    BOOST_TEST(node.rpc_sync("p1", &square_often, "trainer", 10) == 10);
  }

  NetworkNamespace one;
  NetworkNamespace other;
  NetworkNamespace::Inside here{one};
};

BOOST_TEST_DECORATOR(*label("chaos") * label("privileged") * precondition(NeedsNamespaces{}))
BOOST_FIXTURE_TEST_SUITE(two_machines, TwoMachines)

BOOST_AUTO_TEST_CASE(nodes_listen_at_addresses_in_numbers) {
  TestCluster cluster(plan("tcp://10.77.0.1:*", "tcp://10.77.0.2:*"));
  check(cluster, "tcp://10.77.0.1:", "tcp://10.77.0.2:");
}

BOOST_AUTO_TEST_CASE(nodes_listen_at_addresses_of_ipv6) {
  TestCluster cluster(plan("tcp://[fd77::1]:*", "tcp://[fd77::2]:*"));
  check(cluster, "tcp://[fd77::1]:", "tcp://[fd77::2]:");
}

BOOST_AUTO_TEST_CASE(nodes_listen_at_an_interface) {
  TestCluster cluster(plan("tcp://wire:*", "tcp://wire:*"));
  check(cluster, "tcp://10.77.0.1:", "tcp://10.77.0.2:");
}

BOOST_AUTO_TEST_CASE(node_that_is_told_nothing_listens_where_the_seed_is_reached_from) {
  TestCluster cluster(plan("tcp://10.77.0.1:*", ""));
  check(cluster, "tcp://10.77.0.1:", "tcp://10.77.0.2:");
}

BOOST_AUTO_TEST_CASE(node_that_listens_everywhere_says_which_address_is_its_own) {
  ProcessPlan all = plan("tcp://*:*", "tcp://*:*");
  all.trainer.link_options["advertise"] = "tcp://wire:*";
  all.others.front().advertise = "tcp://10.77.0.2:*";
  TestCluster cluster(std::move(all));
  check(cluster, "tcp://10.77.0.1:", "tcp://10.77.0.2:");
}

BOOST_AUTO_TEST_CASE(stream_over_a_slow_wire_that_is_cut_for_a_while_loses_nothing_and_delays_no_small_call) {
  one.limit_rate("wire", 200);  // Mbit/s: 128 MiB take more than five seconds
  TestCluster cluster(plan("tcp://10.77.0.1:*", "tcp://10.77.0.2:*"));
  Node& node = cluster.trainer();
  const std::int64_t count = 32 << 20;
  const Future<std::int64_t> large = node.rpc_async("p1", &count_elements, ones({count}));
  for (int i = 0; i < 20; ++i) BOOST_TEST(node.with({.deadline = 2s}).rpc_sync("p1", &square, i) == i * i);
  BOOST_TEST(!large.ready());
  one.cut_incoming();
  other.cut_incoming();
  BOOST_TEST(!large.get_for(2s).has_value());
  one.mend();
  other.mend();
  BOOST_TEST(large.get() == count);
  BOOST_TEST(node.debug_info().streams.value().packets_sent > 100U);
  BOOST_TEST(node.members().size() == 2U);
}

BOOST_AUTO_TEST_CASE(machine_that_does_not_know_the_secret_is_refused) {
  NodeOptions options;
  options.name = "a";
  options.network = Network::trusted;
  options.bind = "tcp://10.77.0.1:*";
  const Node first = Node::join(options, {});
  const NetworkNamespace::Inside there(other);
  options.name = "b";
  options.seed = first.address();
  options.bind = "tcp://10.77.0.2:*";
  options.secret = ClusterSecret::random();
  BOOST_TEST(error_of([&] { return Node::join(options, {}); }).code == ErrorCode::auth_failed);
}

BOOST_AUTO_TEST_CASE(demo_runs_over_two_machines) {
  const TemporaryDirectory directory;
  const std::string key = (directory.path() / "key").string();
  {
    const detail::FileDescriptor file(::open(key.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    static_cast<void>(ClusterSecret::random().to_descriptor(file.get()).value());
  }
  const auto program = [&](const NetworkNamespace& machine, int rank, const char* name, const char* command) {
    const std::string line = fmt::format(
        "TROUPE__CLUSTER__NETWORK=trusted TROUPE_SECRET_FILE={} MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 WORLD_SIZE=3 "
        "RANK={} "
        "TROUPE_NODE={} TROUPE_MATH_THREADS=1 timeout -k 1 90 {}",
        key, rank, name, command);
    return std::async(std::launch::async, [&machine, line] { return machine.run(line); });
  };
  auto server = program(one, 0, "ps", PARAMETER_SERVER);
  auto first = program(one, 1, "trainer0", TRAINER " --examples 1600 --epochs 1");
  auto second = program(other, 2, "trainer1", TRAINER " --examples 1600 --epochs 1");
  const std::string said = second.get();
  BOOST_TEST(said.find("Training complete! 25 of 25 steps accepted") != std::string::npos, said);  // 1600 / 32 / 2
  BOOST_TEST(said.find("is not encrypted, and whoever reaches that port can fill this node's memory and use up its "
                       "descriptors") != std::string::npos,
             said);
  BOOST_TEST(first.get().find("Training complete! 25 of 25 steps accepted") != std::string::npos);
  server.get();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
