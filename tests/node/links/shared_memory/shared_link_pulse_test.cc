// The pulse of nodes with keys over tcp which turn out to be on one host: pages take the place of heartbeats.
#include "node/links/shared_memory/shared_link.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "node/keys/key_ring.h"
#include "node/links/pulse_thread.h"
#include "tests/node/links/keyed_nodes.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(shared_link_pulse)

/// A node with keys over tcp that is only a link.
struct KeyedSharing {
  KeyedSharing(const ClusterSecret& secret, const KeyRing& ring, std::uint64_t incarnation, bool shares = true) {
    ZmqLinkOptions with = KeyedNode::options(secret, ring, incarnation);
    with.pulse_page = shares;
    auto inner = ZmqLink::open(std::move(with)).value();
    pulse = inner->pulse();
    link = SharedLink::over(std::move(inner), {.name = ring.own_name(), .keys = ring, .shares = shares, .pulse = pulse})
               .value();
    link->start(sink);
  }
  ~KeyedSharing() { link->stop(); }

  /// Returns how many peers it sends no heartbeats, and gets none of.
  [[nodiscard]] std::size_t by_page() const {
    std::promise<std::size_t> count;
    pulse->give([&](Pulse& beats, TimePoint) { count.set_value(beats.by_page()); });
    return count.get_future().get();
  }

  RecordingSink sink;
  std::shared_ptr<PulseThread> pulse;
  std::unique_ptr<SharedLink> link;
};

struct TwoKeyed {
  explicit TwoKeyed(bool b_shares = true) : b(secret, rings[1], 2, b_shares) {
    a.link->connect_to("b", b.link->address());
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
  }
  void until_by_page() const {
    until([&] { return a.by_page() == 1 && b.by_page() == 1; });
  }

  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b"});
  KeyedSharing a{secret, rings[0], 1};
  KeyedSharing b;
};

BOOST_AUTO_TEST_CASE(nodes_with_keys_on_one_host_agree_on_pages_without_a_message_of_their_programs) {
  const TwoKeyed two;
  two.until_by_page();
  BOOST_TEST(two.a.sink.downs().empty());
  BOOST_TEST(two.a.link->shared_memory().value().refused == 0U);
}

BOOST_AUTO_TEST_CASE(process_that_hangs_is_unreachable_though_its_connection_stays) {
  TwoKeyed two;
  two.until_by_page();
  two.b.pulse->stop();
  until([&] { return !two.a.sink.reaches().empty(); });
  BOOST_TEST((two.a.sink.reaches().front().change == Reach::unreachable));
  BOOST_TEST(two.a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(page_of_a_key_that_is_replaced_is_read_no_more_and_given_again, *label("attack") * label("S12")) {
  TwoKeyed two;
  two.until_by_page();
  std::vector<KeyRing::Member> members = two.rings[0].members();
  const KeyPair fresh = KeyPair::random();
  members[0].key = fresh.public_key();
  BOOST_REQUIRE(two.rings[1].replace_members(members).ok());
  until([&] { return two.b.by_page() == 0; });
  BOOST_REQUIRE(two.rings[0].replace_members(members).ok());
  two.rings[0].replace_own_keys(fresh);
  two.until_by_page();
  BOOST_TEST(two.b.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(node_that_shares_no_memory_sends_heartbeats_and_is_sent_them) {
  const TwoKeyed two(false);
  two.a.sink.wait_ups(1);
  until([&] { return two.a.link->shared_memory().value().peers == 1; });  // b reads what a shares
  BOOST_TEST(two.a.by_page() == 0U);
  BOOST_TEST(two.b.by_page() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
