// Nodes on networks whose packets are small, large or of two sizes, and behind a router that translates addresses.
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "node/links/secret.h"
#include "node/node.h"
#include "tensor/create.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/network_namespace.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/error_of.h"

namespace troupe::testing {
namespace {

using boost::unit_test::label;
using boost::unit_test::precondition;
using namespace std::chrono_literals;

constexpr std::int64_t kElements = 4 << 20;  // 16 MiB, in packets of their own connection

struct OneWire {
  OneWire() { join_by_wire(one, other); }

  /// The trainer on `one` and p1 on `other`, with keys or without.
  [[nodiscard]] ProcessPlan plan(bool with_keys) const {
    const std::vector<NodeName> names{"trainer", "p1"};
    const std::vector<KeyRing> rings = make_run_keys(names);
    ProcessPlan plan{.others = {{.name = "p1", .bind = "tcp://10.77.0.2:*", .place = other.descriptor()}}};
    plan.trainer.bind = "tcp://10.77.0.1:*";
    if (with_keys) {
      plan.trainer.keys = rings[0];
      plan.others.front().keys = rings[1];
    } else {
      plan.trainer.network = plan.others.front().network = Network::trusted;
    }
    return plan;
  }

  /// Sends a large tensor both ways, and many small calls.
  void check(bool with_keys) const {
    TestCluster cluster(plan(with_keys));
    Node& node = cluster.trainer();
    const std::uint64_t sent = one.bytes_sent("wire");
    const std::uint64_t answered = other.bytes_sent("wire");
    BOOST_TEST(node.rpc_sync("p1", &count_elements, ones({kElements})) == kElements);
    BOOST_TEST(node.rpc_sync("p1", &filled, kElements, 1.0).numel() == kElements);
    BOOST_TEST(node.rpc_sync("p1", &square_often, "trainer", 100) == 100);
    BOOST_TEST(one.bytes_sent("wire") - sent > 4 * kElements);
    BOOST_TEST(other.bytes_sent("wire") - answered > 4 * kElements);
    BOOST_TEST(node.debug_info().streams.value().packets_sent > 0U);
  }

  NetworkNamespace one;
  NetworkNamespace other;
  NetworkNamespace::Inside here{one};
};

/// The trainer's machine, 10.77.0.1, and another, 192.168.7.2, behind a router that is 10.77.0.2 for the first.
struct BehindRouter {
  BehindRouter() {
    join_by_wire(outside, router);
    router.run(
        fmt::format("ip link add inner type veth peer name wire netns /proc/{}/fd/{}", getpid(), behind.descriptor()));
    router.run("ip address add 192.168.7.1/24 dev inner && ip link set inner up");
    behind.run("ip address add 192.168.7.2/24 dev wire && ip link set wire up");
    behind.run("ip route add default via 192.168.7.1");
    router.run("echo 1 > /proc/sys/net/ipv4/ip_forward");
    router.run("nft add table ip nat");
    router.run("nft 'add chain ip nat leaving { type nat hook postrouting priority 100; }'");
    router.run("nft 'add rule ip nat leaving oifname wire masquerade'");
  }

  /// Hands connections and datagrams to `port` of the router on.
  void forward(int port) const {
    router.run("nft 'add chain ip nat coming { type nat hook prerouting priority -100; }'");
    for (const char* protocol : {"tcp", "udp"}) {
      router.run(
          fmt::format("nft 'add rule ip nat coming iifname wire {} dport {} dnat to 192.168.7.2'", protocol, port));
    }
  }

  NetworkNamespace outside;
  NetworkNamespace router;
  NetworkNamespace behind;
  NetworkNamespace::Inside here{outside};
};

BOOST_TEST_DECORATOR(*label("chaos") * label("privileged") * precondition(NeedsNamespaces{}))
BOOST_AUTO_TEST_SUITE(networks)

BOOST_FIXTURE_TEST_CASE(packets_of_every_usual_size_carry_calls_and_tensors, OneWire) {
  for (const std::uint32_t bytes : {1280U, 1500U, 9000U, 65535U}) {
    BOOST_TEST_CONTEXT(bytes) {
      one.limit_packets("wire", bytes);
      other.limit_packets("wire", bytes);
      check(false);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(with_keys_packets_may_be_small_and_large, OneWire) {
  for (const std::uint32_t bytes : {1280U, 65535U}) {
    BOOST_TEST_CONTEXT(bytes) {
      one.limit_packets("wire", bytes);
      other.limit_packets("wire", bytes);
      check(true);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(machines_whose_packets_have_different_sizes_reach_each_other, OneWire) {
  one.limit_packets("wire", 9000);
  other.limit_packets("wire", 1280);
  check(false);
}

BOOST_FIXTURE_TEST_CASE(a_node_behind_translated_addresses_is_reached_where_its_router_hands_on, BehindRouter) {
  forward(29500);
  ProcessPlan plan{.others = {{.name = "p1",
                               .bind = "tcp://192.168.7.2:29500",
                               .advertise = "tcp://10.77.0.2:29500",
                               .network = Network::trusted,
                               .place = behind.descriptor()}}};
  plan.trainer.bind = "tcp://10.77.0.1:*";
  plan.trainer.network = Network::trusted;
  TestCluster cluster(std::move(plan));
  Node& node = cluster.trainer();
  BOOST_TEST(node.rpc_sync("p1", &count_elements, ones({kElements})) == kElements);
  BOOST_TEST(node.rpc_sync("p1", &square_often, "trainer", 100) == 100);
}

BOOST_FIXTURE_TEST_CASE(a_node_that_others_cannot_reach_says_both_addresses, BehindRouter) {
  NodeOptions options;
  options.network = Network::trusted;
  options.world_size = 2;
  options.join_deadline = 20s;
  options.secret = ClusterSecret::random();
  const auto join = [&options](const NodeName& name, const std::string& address, const std::string& seed) {
    NodeOptions own = options;
    own.name = name;
    own.bind = address;
    own.seed = seed;
    return error_of([&] { return Node::join(own, {}); });
  };
  auto first = std::async(std::launch::async, join, "a", "tcp://10.77.0.1:29400", "");
  const NetworkNamespace::Inside there(behind);
  const Error why = join("b", "tcp://192.168.7.2:29500", "tcp://10.77.0.1:29400");
  BOOST_TEST((why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(why.message ==
             "a, which answers at tcp://10.77.0.1:29400, did not connect back to tcp://192.168.7.2:29500");
  BOOST_TEST(why.hint.find("address translation") != std::string::npos, why.hint);
  BOOST_TEST((first.get().code == ErrorCode::timeout));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
