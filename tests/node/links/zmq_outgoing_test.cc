// A node with keys speaks to the holder of the key that it knows, and says so if another one listens.
#include "node/links/zmq_outgoing.h"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/sessions/silence_limits.h"
#include "node/file_descriptor.h"
#include "node/links/handshake.h"
#include "node/links/zmq_link_socket.h"
#include "tests/node/links/keyed_nodes.h"
#include "tests/support/counting_new.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::KeyedNode;

struct Run {
  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b", "c"});
};

// Two seconds on a machine that is not busy with something else; attempts go on for ten.
constexpr Duration kSoon = 7s;
constexpr AttemptLimit::Rank kFirst = AttemptLimit::Rank::first;

Error failure_of(KeyedNode& node, Duration limit) {
  const auto begin = std::chrono::steady_clock::now();
  node.sink.wait_failures(1);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < limit));
  BOOST_TEST(node.sink.ups().empty());
  return node.sink.failures()[0].why;
}

/// A peer that welcomes one connection. Then it stands still: its host goes on accepting connections for it.
class StandsStill {
 public:
  StandsStill(ClusterSecret secret, Duration lease)
      : secret_(std::move(secret)), server_(identity(lease), secret_, random_nonce()) {}
  [[nodiscard]] const std::string& address() const { return address_; }

  void answer() {
    const auto message = router_ ? router_->receive() : std::nullopt;
    if (!message) return;
    const HandshakeStep step = server_.take(message->at(1).bytes);
    const auto reply = step.done ? server_.welcome(1).message : step.reply;
    BOOST_REQUIRE(router_->send({message->front(), make_frame(std::vector(reply))}));
  }

  void stand_still() {
    router_.reset();
    context_.reset();  // it has left the port when this returns
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address().substr(address().rfind(':') + 1))));
    const int on = 1;
    BOOST_REQUIRE(::setsockopt(host_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    BOOST_REQUIRE(::bind(host_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0);
    BOOST_REQUIRE(::listen(host_.get(), 100) == 0);
  }

  void die() { host_.close(); }

  /// Closes the connections that wait, as another program may that listens there instead.
  void close_all() {
    pollfd next{.fd = host_.get(), .events = POLLIN, .revents = 0};
    while (::poll(&next, 1, 0) == 1) detail::FileDescriptor(::accept4(host_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  [[nodiscard]] HandshakeIdentity identity(Duration lease) const {
    return {.peer = {.name = "a", .incarnation = {.high = 1, .low = 1}, .address = address_},
            .cluster_id = "test",
            .pulse = {.address = {}, .lease = lease}};
  }

  const ClusterSecret secret_;
  std::optional<ZmqContext> context_{std::in_place};
  std::optional<ZmqSocket> router_ = ZmqSocket::open(*context_, ZmqSocket::Kind::router, testing::kKeyedLimits).value();
  const std::string address_ = router_->bind("tcp://127.0.0.1:*").value();
  HandshakeServer server_;
  detail::FileDescriptor host_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

/// A connection to a peer that stands still from then on.
struct ToOneThatStandsStill {
  ToOneThatStandsStill(Duration own_lease, Duration its_lease, std::string host = {}, Duration handshake_timeout = 2s)
      : parts(options(own_lease, handshake_timeout)), peer(parts.options.secret, its_lease) {
    parts.self = {.peer = {.name = "b", .incarnation = {.high = 1, .low = 2}, .address = "tcp://127.0.0.1:1"},
                  .cluster_id = "test"};
    outgoing.emplace(parts, peer.address(), "", 2, start, OnThisHost(host.empty() ? peer.address() : host));
    const auto happened = next(start);
    BOOST_REQUIRE((happened && std::holds_alternative<ZmqOutgoing::Welcomed>(*happened)));
    peer.stand_still();
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (outgoing->welcomed() && std::chrono::steady_clock::now() < due) {
      BOOST_REQUIRE(!outgoing->work(start + 1s).has_value());
      (void)parts.ready.wait(100ms);
    }
    BOOST_REQUIRE(!outgoing->welcomed());
  }
  static ZmqLinkOptions options(Duration own_lease, Duration handshake_timeout) {
    ZmqLinkOptions with;
    with.secret = ClusterSecret::random();
    with.cluster_id = "test";
    with.connect_patience = 20s;
    with.silence.lease = own_lease;
    with.handshake_timeout = handshake_timeout;
    return with;
  }
  /// Waits for what happens next, for 10 s.
  std::optional<ZmqOutgoing::Happened> next(TimePoint now) {
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < due) {
      if (auto happened = outgoing->work(now)) return happened;
      peer.answer();
      (void)parts.ready.wait(1ms);
    }
    return std::nullopt;
  }

  /// Waits until the attempt that is under way has failed, or something has happened.
  std::optional<ZmqOutgoing::Happened> end_of_attempt(TimePoint now, bool closes) {
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < due) {
      if (auto happened = outgoing->work(now)) return happened;
      if (outgoing->next_due()) return std::nullopt;  // of the next attempt
      if (closes) peer.close_all();
      (void)parts.ready.wait(1ms);
    }
    BOOST_TEST_REQUIRE(false, "no attempt has failed");
    return std::nullopt;
  }

  const TimePoint start = std::chrono::steady_clock::now();
  ZmqLinkParts parts;
  StandsStill peer;
  std::optional<ZmqOutgoing> outgoing;
};

std::string why_of(const std::optional<ZmqOutgoing::Happened>& happened) {
  const auto* lost = happened ? std::get_if<ZmqOutgoing::Lost>(&*happened) : nullptr;
  return lost == nullptr ? "not lost" : lost->why.message;
}

BOOST_AUTO_TEST_SUITE(zmq_outgoing)

// This node's sockets have cut the connection after its own lease.
BOOST_AUTO_TEST_CASE(peer_at_a_breakpoint_is_waited_for_without_end_unless_its_process_ends) {
  ToOneThatStandsStill one(10s, kEndlessLease);
  BOOST_TEST(why_of(one.outgoing->work(one.start + 24h)) == "not lost");
  BOOST_TEST(!one.outgoing->next_due().has_value());
  one.peer.die();
  BOOST_TEST(why_of(one.next(one.start + 24h)) == "connection closed");
}

// Each of them ends with ZeroMQ's time-out. Five seconds of the test's clock pass meanwhile.
BOOST_AUTO_TEST_CASE(attempts_that_are_not_answered_do_not_count_as_refused) {
  ToOneThatStandsStill one(10s, kEndlessLease, {}, 100ms);
  for (TimePoint now = one.start + 5s; now < one.start + 60s; now += 5s)
    BOOST_TEST(!one.end_of_attempt(now, false).has_value());
}

// Its process has ended, and another program listens there.
BOOST_AUTO_TEST_CASE(peer_with_debug_whose_address_only_closes_connections_is_lost_after_the_patience) {
  ToOneThatStandsStill one(10s, kEndlessLease);
  TimePoint now = one.start + 1s;
  for (; now < one.start + 21s; now += 1s) BOOST_TEST_REQUIRE(!one.end_of_attempt(now, true).has_value());
  BOOST_TEST(why_of(one.end_of_attempt(now, true)) == "connection lost and not made again within 20 s");
}

BOOST_AUTO_TEST_CASE(peer_with_debug_on_another_host_is_lost_after_refusals_of_the_patience) {
  ToOneThatStandsStill one(10s, kEndlessLease, "tcp://192.0.2.1:1");  // which no machine has
  one.peer.die();
  std::optional<ZmqOutgoing::Happened> happened;
  TimePoint now = one.start + 1s;
  const TimePoint due = std::chrono::steady_clock::now() + 20s;
  while (!happened && std::chrono::steady_clock::now() < due) {
    now += 500ms;
    happened = one.outgoing->work(now);
    if (!happened) (void)one.parts.ready.wait(20ms);
  }
  BOOST_TEST(why_of(happened) == "connection lost and not made again within 20 s");
  BOOST_TEST((now >= one.start + 21s));
}

BOOST_AUTO_TEST_CASE(peer_that_stands_still_is_lost_after_the_lease_of_a_pair_that_has_one) {
  ToOneThatStandsStill one(10s, 30s);
  BOOST_TEST(why_of(one.outgoing->work(one.start + 30s)) == "not lost");
  BOOST_TEST(why_of(one.outgoing->work(one.start + 31s)) == "connection lost and not made again within 30 s");
}

// A connection that was not cut by a time-out of this node ended with its process, or with its host.
BOOST_AUTO_TEST_CASE(lost_connection_of_a_node_with_debug_is_soon_given_up) {
  ToOneThatStandsStill one(kEndlessLease, 10s);
  BOOST_TEST(why_of(one.outgoing->work(one.start + 21s)) == "connection lost and not made again within 20 s");
}

BOOST_AUTO_TEST_CASE(refusals_are_in_a_row_until_an_attempt_is_not_refused_or_takes_long) {
  Refusals refusals;
  const TimePoint start{};
  BOOST_TEST((refusals.take(start, 10s) == 0s));
  BOOST_TEST((refusals.take(start + 9s, 10s) == 9s));
  BOOST_TEST((refusals.take(start + 19s, 10s) == 19s));
  BOOST_TEST((refusals.take(start + 30s, 10s) == 0s));  // 11 s: it got no answer
  BOOST_TEST((refusals.take(start + 31s, 10s) == 1s));
  refusals.end();
  BOOST_TEST((refusals.take(start + 32s, 10s) == 0s));
}

BOOST_AUTO_TEST_CASE(node_whose_key_is_unknown_to_the_peer_fails_long_before_its_patience_ends, *label("S2")) {
  const Run run;
  const Run other;
  KeyedNode a(run.secret, run.rings[0]);
  const KeyRing& own = other.rings[1];  // with a's true key beside it
  KeyedNode b(run.secret, testing::ring_of(own, {run.rings[0].members()[0], own.members()[1]}), 2);
  b.connect_to("a", a);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::auth_failed));
  BOOST_TEST(why.message == "a does not let this node's key in");
  BOOST_TEST(a.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(peer_with_another_key_than_expected_fails_long_before_its_patience_ends, *label("S2")) {
  const Run run;
  const Run other;
  KeyedNode impostor(run.secret, other.rings[0]);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("a", impostor);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::auth_failed));
  BOOST_TEST(why.message == impostor.link->address() + " does not have the key that this node knows as a's");
  BOOST_TEST(impostor.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(another_member_at_the_address_is_not_taken_for_the_expected_one, *label("S4")) {
  const Run run;
  KeyedNode c(run.secret, run.rings[2], 3);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("a", c);
  BOOST_TEST((failure_of(b, kSoon).code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(member_that_calls_itself_otherwise_than_its_key_is_not_up, *label("S4")) {
  const Run run;
  KeyedNode liar(run.secret, testing::forged_ring(run.rings[2], "a"), 3);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("c", liar);
  const Error why = failure_of(b, kSoon);
  BOOST_TEST((why.code == ErrorCode::not_authorized));
  BOOST_TEST(why.message == "c calls itself a");
}

BOOST_AUTO_TEST_CASE(node_without_a_key_of_its_peer_fails) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  KeyedNode b(run.secret, run.rings[1], 2);
  b.connect_to("stranger", a);
  BOOST_TEST(failure_of(b, kSoon).message == "this node has no key of stranger");
  b.link->connect(a.link->address());
  b.sink.wait_failures(2);
  BOOST_TEST(b.sink.failures()[1].why.message ==
             "the name of the node at " + a.link->address() + " is not known, so neither is its key");
}

BOOST_AUTO_TEST_CASE(node_without_keys_and_one_with_keys_do_not_meet, *label("S2")) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  ZmqLinkOptions with = KeyedNode::options(run.secret, run.rings[1], 2);
  with.keys.reset();
  with.connect_patience = 1s;
  KeyedNode open(std::move(with));
  open.link->connect(a.link->address());
  const Error why = failure_of(open, kSoon);
  BOOST_TEST((why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(why.message == a.link->address() + " broke off every handshake, as a node with keys does, within 1 s");
  a.connect_to("b", open);
  BOOST_TEST((failure_of(a, kSoon).code == ErrorCode::auth_failed));
}

BOOST_AUTO_TEST_CASE(attempt_for_one_key_makes_way_for_the_member_that_is_there) {
  const Run run;
  KeyedNode a(run.secret, run.rings[0]);
  KeyedNode c(run.secret, run.rings[2], 3);
  a.connect_to("b", c);  // it is c
  c.connect_to("a", a);
  c.sink.wait_ups(1);
  a.sink.wait_ups(1);
  BOOST_TEST(a.sink.ups()[0].name == "c");
  a.sink.wait_failures(1);
  BOOST_TEST(a.sink.failures()[0].address == c.link->address());
  BOOST_TEST(a.sink.downs().empty());
  a.connect_to("b", c);
  a.sink.wait_failures(2);
  BOOST_TEST((a.sink.failures()[1].why.code == ErrorCode::name_in_use));
  BOOST_TEST(a.sink.failures()[1].why.message == "c is up there, not \"b\"");
}

BOOST_AUTO_TEST_CASE(connection_that_waits_for_a_place_takes_no_memory_for_packets) {
  ZmqLinkParts parts(ZmqLinkOptions{});
  const TimePoint start = std::chrono::steady_clock::now();
  for (ReadySet::Key i = 0; i < AttemptLimit::kPlaces; ++i) BOOST_TEST(parts.attempts.ask(100 + i, kFirst, start));
  const testing::PeakMemory memory;
  const ZmqOutgoing waiting(parts, "tcp://127.0.0.1:1", "", 2, start);
  const std::size_t bytes = memory.live();
  BOOST_TEST(bytes < 600U);  // its turn among those that wait, and its address
}

BOOST_AUTO_TEST_CASE(patience_begins_when_the_attempt_has_a_place) {
  ZmqLinkOptions with;
  with.connect_patience = 10s;
  ZmqLinkParts parts(with);
  const TimePoint start = std::chrono::steady_clock::now();
  constexpr ReadySet::Key kOthers = 100;
  for (ReadySet::Key i = 0; i < AttemptLimit::kPlaces; ++i) BOOST_TEST(parts.attempts.ask(kOthers + i, kFirst, start));
  constexpr ReadySet::Key kOwn = 2;
  ZmqOutgoing waiting(parts, "tcp://127.0.0.1:1", "", kOwn, start);
  BOOST_TEST(!waiting.work(start + 1h).has_value());
  BOOST_TEST(!waiting.next_due().has_value());
  parts.attempts.over(kOthers);
  BOOST_TEST(parts.attempts.admit(start + 1h) == std::vector{kOwn}, boost::test_tools::per_element());
  waiting.begin(start + 1h);
  BOOST_TEST(!waiting.work(start + 1h + 9s).has_value());
  BOOST_TEST((waiting.next_due() == start + 1h + 10s));
  const auto happened = waiting.work(start + 1h + 10s);
  BOOST_REQUIRE((happened && std::holds_alternative<ZmqOutgoing::Failed>(*happened)));
  BOOST_TEST(std::get<ZmqOutgoing::Failed>(*happened).why.message.ends_with(" within 10 s"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
