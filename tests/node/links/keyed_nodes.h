// ZeroMQ links with keys, and clients that have the wrong ones.
#pragma once

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "messages/frame.h"
#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"
#include "node/links/handshake.h"
#include "node/links/handshake_wire.h"
#include "node/links/ready_set.h"
#include "node/links/zmq_link.h"
#include "node/links/zmq_link_parts.h"
#include "node/links/zmq_link_socket.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {

inline constexpr ZmqSocketLimits kKeyedLimits{.frame_bytes_max = 1 << 20,
                                              .frames_max = 1000,
                                              .queue_messages_max = 1000,
                                              .handshake_timeout = std::chrono::seconds{2}};

/// A ring with the own keys of `ring` and members that nobody else agreed to. REQUIRES: one of them has that key.
inline KeyRing ring_of(const KeyRing& ring, const std::vector<KeyRing::Member>& members) {
  const LockedBytes true_bytes = ring.to_bytes();
  std::vector<std::byte> bytes(true_bytes.bytes().begin(), true_bytes.bytes().begin() + 48);
  detail::store_little_endian(std::span(bytes).subspan(40), static_cast<std::uint32_t>(members.size()));
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto& [name, key] = members[i];
    if (key == ring.own_keys().public_key()) detail::store_little_endian(std::span(bytes).subspan(44), i);
    bytes.push_back(static_cast<std::byte>(name.size()));
    for (const char c : name) bytes.push_back(static_cast<std::byte>(c));
    bytes.insert(bytes.end(), key.bytes.begin(), key.bytes.end());
  }
  return KeyRing::from_bytes(bytes).value();
}

/// The ring of a member that gives itself the name of another one, which it leaves out.
inline KeyRing forged_ring(const KeyRing& ring, const NodeName& own_name) {
  std::vector<KeyRing::Member> members;
  for (const KeyRing::Member& member : ring.members()) {
    if (member.name == own_name) continue;
    members.push_back({member.name == ring.own_name() ? own_name : member.name, member.key});
  }
  return ring_of(ring, members);
}

/// A started link on 127.0.0.1.
struct KeyedNode {
  static ZmqLinkOptions options(const ClusterSecret& secret, const KeyRing& ring, std::uint64_t incarnation) {
    ZmqLinkOptions with;
    with.name = ring.own_name();
    with.incarnation = {.high = 1, .low = incarnation};
    with.cluster_id = "test";
    with.secret = secret;
    with.keys = ring;
    with.connect_patience = std::chrono::seconds{10};
    with.name_patience = std::chrono::milliseconds{100};
    return with;
  }
  explicit KeyedNode(ZmqLinkOptions with) {
    auto opened = ZmqLink::open(std::move(with));
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().text()));
    link = std::move(opened).value();
    link->start(sink);
  }
  KeyedNode(const ClusterSecret& secret, const KeyRing& ring, std::uint64_t incarnation = 1)
      : KeyedNode(options(secret, ring, incarnation)) {}

  void send(const NodeName& to, std::string_view text, LinkLane lane = LinkLane::express) {
    link->send(to, lane, {frame_of("header"), frame_of(text)});
  }
  void connect_to(const NodeName& name, const KeyedNode& other) { link->connect_to(name, other.link->address()); }

  RecordingSink sink;
  std::unique_ptr<ZmqLink> link;
};

/// Nodes a and b, which are up with each other, and the rings of worker1 and worker2, which do not run.
struct KeyedTwo {
  KeyedTwo() {
    a.connect_to("b", b);
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
  }
  void check_still_up() {
    a.send("b", "still");
    b.send("a", "up", LinkLane::bulk);
    a.sink.wait_messages(1);
    b.sink.wait_messages(1);
    BOOST_TEST(a.sink.downs().empty());
    BOOST_TEST(b.sink.downs().empty());
    BOOST_TEST(a.sink.ups().size() == 1U);
    BOOST_TEST(b.sink.ups().size() == 1U);
    BOOST_TEST(a.sink.messages().size() == 1U);
    BOOST_TEST(b.sink.messages().size() == 1U);
  }

  const ClusterSecret secret = ClusterSecret::random();
  const std::vector<KeyRing> rings = make_run_keys(std::vector<NodeName>{"a", "b", "worker1", "worker2"});
  KeyedNode a{secret, rings[0], 1};
  KeyedNode b{secret, rings[1], 2};
};

/// A ZeroMQ client that knows Troupe's handshake. `own` null: it speaks no CURVE.
struct KeyedClient {
  KeyedClient(const std::string& address, const KeyPair* own, const PublicKey& server) {
    if (own != nullptr) BOOST_REQUIRE(socket.secure_as_client(*own, server).ok());
    BOOST_REQUIRE(socket.tell(ready, 0).ok());
    BOOST_REQUIRE(socket.connect(address).ok());
  }

  /// Returns the first event of the handshake; nullopt if there is none within five seconds.
  std::optional<ZmqSocket::Event> first_event() {
    const TimePoint due = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    while (std::chrono::steady_clock::now() < due) {
      const auto events = socket.events();
      const auto told = std::ranges::find_if(events, [](ZmqSocket::Event event) {
        return event == ZmqSocket::Event::connected || event == ZmqSocket::Event::denied ||
               event == ZmqSocket::Event::broken_off;
      });
      if (told != events.end()) return *told;
      wait();
    }
    return std::nullopt;
  }
  void send(const Frames& frames) {
    while (!socket.send(frames)) wait();
  }
  Frames receive() {
    const TimePoint due = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    while (std::chrono::steady_clock::now() < due) {
      if (auto message = socket.receive()) return *std::move(message);
      wait();
    }
    BOOST_FAIL("no answer came");
    return {};
  }
  /// Takes the handshake up to its end as a node that calls itself `name` and knows the secret.
  HandshakeStep shake_hands(const NodeName& name, const ClusterSecret& secret) {
    return shake_hands_as({.name = name, .incarnation = {7, 7}, .address = "tcp://127.0.0.1:1"}, secret);
  }
  HandshakeStep shake_hands_as(const Peer& self, const ClusterSecret& secret, const std::string& cluster_id = "test") {
    HandshakeClient client({.peer = self, .cluster_id = cluster_id}, secret, random_nonce());
    send({make_frame({client.hello().begin(), client.hello().end()})});
    while (true) {
      HandshakeStep step = client.take(receive().at(0).bytes);
      if (!step.reply.empty()) send({make_frame(step.reply)});
      if (step.done || step.failed) return step;
    }
  }
  /// Waits until the node has read all that came before on this connection: it refuses a version that it does not
  /// speak. REQUIRES: no handshake is under way.
  void wait_until_all_was_read() {
    const HandshakeClient client({.peer = {.name = "old", .address = "tcp://127.0.0.1:1"},
                                  .cluster_id = "test",
                                  .version_min = 1,
                                  .version_max = 1},
                                 ClusterSecret::random(), random_nonce());
    send({make_frame({client.hello().begin(), client.hello().end()})});
    std::optional<ErrorCode> code;
    while (code != ErrorCode::version_mismatch) {
      const auto answer = handshake::decode(receive().at(0).bytes, kProtocolVersionMin, kProtocolVersionMax).value();
      if (const auto* refused = std::get_if<handshake::Refused>(&answer)) code = refused->code;
    }
  }
  void wait() { (void)ready.wait(std::chrono::milliseconds{100}); }

  ReadySet ready;
  ZmqContext context;
  ZmqSocket socket = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, kKeyedLimits).value();
};

/// A TCP connection without ZeroMQ.
struct RawClient {
  explicit RawClient(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  void send(std::string_view bytes) const {
    BOOST_REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  /// Reads until the other side closes. Returns false if it does not within five seconds.
  [[nodiscard]] bool is_closed() const {
    const TimePoint due = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    std::vector<char> ignored(4096);
    while (std::chrono::steady_clock::now() < due) {
      pollfd polled{.fd = socket.get(), .events = POLLIN, .revents = 0};
      if (::poll(&polled, 1, 100) <= 0) continue;
      if (::recv(socket.get(), ignored.data(), ignored.size(), 0) <= 0) return true;
    }
    return false;
  }
  detail::FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

}  // namespace troupe::testing
