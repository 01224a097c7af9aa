// Values stay where they are used: the traffic between nodes, by the nodes' own counts.
#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <utility>

#include "actors/op.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using boost::unit_test::fixture;
using boost::unit_test::label;

constexpr std::int64_t kElements = 262'144;
constexpr std::uint64_t kValueBytes = 4 * kElements;    // 1 MiB of f32
constexpr std::uint64_t kWordBytes = kValueBytes / 16;  // many calls and acknowledgements fit, a value does not

/// Measures the traffic between nodes from here on.
class Traffic {
 public:
  explicit Traffic(Node& trainer) : trainer_(trainer) {}

  /// Returns the bytes that `from` sent to `to` since the first query for this pair.
  [[nodiscard]] std::uint64_t sent(const NodeName& from, const NodeName& to) {
    const std::uint64_t now = trainer_.rpc_sync(from, &bytes_with, to).first;
    return now - before_.try_emplace({from, to}, now).first->second;
  }
  [[nodiscard]] std::uint64_t between(const NodeName& a, const NodeName& b) { return sent(a, b) + sent(b, a); }

 private:
  Node& trainer_;
  std::map<std::pair<NodeName, NodeName>, std::uint64_t> before_;
};

BOOST_FIXTURE_TEST_SUITE(pipelining, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(values_between_the_calls_of_a_chain_on_one_owner_do_not_travel) {
  Traffic traffic(trainer);
  static_cast<void>(traffic.between("trainer", "p1"));
  const std::uint64_t calls = trainer.debug_info().traffic->at("p1").calls_sent;
  RRef<Tensor> value = trainer.remote("p1", &filled, kElements, 1.0);
  for (int i = 0; i < 10; ++i) value = value.remote(trainer, op::add, 0.5);  // drops the previous one
  BOOST_TEST(value.rpc_sync(trainer, op::sum).item() == 6.0 * kElements);    // 1 + 10 * 0.5
  BOOST_TEST(trainer.debug_info().traffic->at("p1").calls_sent - calls == 12U);
  BOOST_TEST(traffic.between("trainer", "p1") < kWordBytes);
  BOOST_TEST(value.to_here(trainer).numel() == kElements);
  BOOST_TEST(traffic.sent("trainer", "p1") < kWordBytes);
  BOOST_TEST(traffic.sent("p1", "trainer") >= kValueBytes);  // once
  BOOST_TEST(traffic.sent("p1", "trainer") < kValueBytes + kWordBytes);
}

BOOST_AUTO_TEST_CASE(value_goes_from_its_owner_to_who_fetches_it_never_through_the_driver) {
  Traffic traffic(trainer);
  const auto check = [&](std::uint64_t at_least, std::uint64_t below) {
    for (const char* node : {"p1", "p2", "p3"}) BOOST_TEST(traffic.between("trainer", node) < kWordBytes);
    for (const char* node : {"p1", "p2"}) BOOST_TEST(traffic.between(node, "p3") < kWordBytes);
    BOOST_TEST(traffic.sent("p2", "p1") < kWordBytes);
    BOOST_TEST(traffic.sent("p1", "p2") >= at_least);
    BOOST_TEST(traffic.sent("p1", "p2") < below);
  };
  check(0, kWordBytes);
  const RRef<Tensor> value = trainer.remote("p1", &filled, kElements, 2.0);
  BOOST_TEST(trainer.rpc_sync("p2", &fetched_sum, value) == 2.0 * kElements);
  check(kValueBytes, kValueBytes + kWordBytes);
  // Passed through a third node.
  BOOST_TEST(trainer.rpc_sync("p3", &forwarded_sum, "p2", value) == 2.0 * kElements);
  check(2 * kValueBytes, 2 * kValueBytes + kWordBytes);
}

BOOST_AUTO_TEST_CASE(program_over_four_nodes_moves_each_value_once_from_where_it_is_made_to_where_it_is_used,
                     *label("scenario-D1")) {
  Traffic traffic(trainer);
  const std::map<std::pair<NodeName, NodeName>, int> moves{{{"p1", "p3"}, 1}, {{"p2", "p3"}, 1}, {{"p3", "p4"}, 2}};
  const std::vector<NodeName> nodes{"trainer", "p1", "p2", "p3", "p4"};
  const auto check = [&](std::uint64_t bytes) {
    for (const NodeName& from : nodes) {
      for (const NodeName& to : nodes) {
        if (from == to) continue;
        const auto move = moves.find({from, to});
        const std::uint64_t expected = move == moves.end() ? 0 : static_cast<std::uint64_t>(move->second) * bytes;
        const std::uint64_t sent = traffic.sent(from, to);
        BOOST_TEST((sent >= expected && sent < expected + kWordBytes),
                   from << " sent " << to << " " << sent << " bytes");
      }
    }
  };
  check(0);
  const RRef<Tensor> a = trainer.remote("p1", &filled, kElements, 1.0);
  const RRef<Tensor> b = trainer.remote("p2", &filled, kElements, 2.0);
  const RRef<Tensor> c = trainer.remote("p3", &rref_add, a, b);
  const RRef<Tensor> d = trainer.remote("p4", &rref_add, c, c);  // fetches c twice
  BOOST_TEST(d.rpc_sync(trainer, op::sum).item() == 6.0 * kElements);
  check(kValueBytes);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
