// Cancelled and repeated attempts to connect; lives of a peer.
#include "node/links/zmq_link_core.h"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"
#include "node/links/handshake.h"
#include "node/links/zmq_link.h"
#include "node/links/zmq_link_socket.h"
#include "tests/node/links/keyed_nodes.h"
#include "tests/support/recording_sink.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(zmq_link_core)

namespace {

using namespace std::chrono_literals;
using testing::RecordingSink;

struct LinkOfTest {
  LinkOfTest(
      const std::string& name, std::uint64_t incarnation, const ClusterSecret& secret, const std::string& bind,
      const std::function<void(ZmqLinkOptions&)>& change = [](ZmqLinkOptions&) {}) {
    ZmqLinkOptions with;
    with.name = name;
    with.incarnation = {.high = 1, .low = incarnation};
    with.cluster_id = "test";
    with.secret = secret;
    with.bind = bind;
    with.connect_patience = with.handshake_timeout = 1h;
    change(with);
    auto opened = ZmqLink::open(std::move(with));
    BOOST_REQUIRE(opened.ok());
    link = std::move(opened).value();
    link->start(sink);
  }

  RecordingSink sink;
  std::unique_ptr<ZmqLink> link;
};

/// Accept connections, and never say a word. More of them than attempts are under way at the same time.
struct SilentHosts {
  SilentHosts() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    socklen_t size = sizeof place;
    BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&place), size) == 0 &&
                  ::listen(listener.get(), 100) == 0);
    BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &size) == 0);
    for (std::size_t host = 1; host <= 2 * AttemptLimit::kPlaces; ++host) {
      addresses.push_back(fmt::format("tcp://127.0.1.{}:{}", host, ntohs(place.sin_port)));
    }
  }
  detail::FileDescriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<std::string> addresses;
};

/// Both ends of the node "b" as one of its lives after the other. Connections of an earlier life stay open, as those of
/// a host that lost its power.
struct Lives {
  explicit Lives(const ClusterSecret& common) : secret(common) {
    BOOST_REQUIRE(listener.tell(ready, 0).ok());
    self.address = listener.bind("tcp://127.0.0.1:*").value();
  }

  /// Waits until `a` has connected to the present life. Calls `meanwhile` once, while `a` waits for an answer.
  void welcome(std::function<void()> meanwhile = [] {}) {
    std::map<std::string, HandshakeServer> handshakes;
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < due) {
      const std::optional<Frames> message = listener.receive();
      if (!message) {
        (void)ready.wait(100ms);
        continue;
      }
      std::exchange(meanwhile, [] {})();
      const Frame& route = message->front();
      const std::string key(reinterpret_cast<const char*>(route.bytes.data()), route.bytes.size());
      HandshakeServer& server =
          handshakes.try_emplace(key, HandshakeIdentity{.peer = self, .cluster_id = "test"}, secret, random_nonce())
              .first->second;
      const HandshakeStep step = server.take((*message)[1].bytes);
      if (step.done) BOOST_REQUIRE(listener.send({route, make_frame(server.welcome(1).message)}));
      if (step.done) return;
      if (!step.reply.empty()) BOOST_REQUIRE(listener.send({route, make_frame(step.reply)}));
    }
    BOOST_FAIL("nobody has connected");
  }
  /// Returns the text of the next packet from `a`.
  std::string next_packet() {
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (std::chrono::steady_clock::now() < due) {
      if (const std::optional<Frames> message = listener.receive()) return testing::text_of(message->back());
      (void)ready.wait(100ms);
    }
    return "none";
  }
  /// Connects to `a` as the present life.
  HandshakeStep connect(const LinkOfTest& a) {
    callers.push_back(std::make_unique<testing::KeyedClient>(a.link->address(), nullptr, PublicKey{}));
    return callers.back()->shake_hands_as(self, secret);
  }

  const ClusterSecret secret;
  Peer self{.name = "b", .incarnation = {.high = 1, .low = 2}};
  ReadySet ready;
  ZmqContext context;
  ZmqSocket listener = ZmqSocket::open(context, ZmqSocket::Kind::router, testing::kKeyedLimits).value();
  std::vector<std::unique_ptr<testing::KeyedClient>> callers;
};

}  // namespace

BOOST_AUTO_TEST_CASE(who_says_to_be_the_next_life_of_a_live_peer_waits_until_its_address_is_asked,
                     *boost::unit_test::label("attack")) {
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  Lives b(secret);
  a.link->connect(b.self.address);
  b.welcome();
  BOOST_REQUIRE(b.connect(a).done);
  a.sink.wait_ups(1);

  b.self.incarnation.low = 3;
  const HandshakeStep early = b.connect(a);
  BOOST_TEST_REQUIRE(early.failed.has_value());
  BOOST_TEST((early.failed->code == ErrorCode::name_in_use));
  BOOST_TEST(a.sink.downs().empty());
  b.welcome();  // the answer to the question
  a.sink.wait_downs(1);
  BOOST_TEST((a.sink.downs()[0].why.code == ErrorCode::peer_restarted));
  BOOST_TEST(a.sink.downs()[0].incarnation.low == 2U);
  BOOST_REQUIRE(b.connect(a).done);
  a.sink.wait_ups(2);
  BOOST_TEST(a.sink.ups()[1].incarnation.low == 3U);
}

BOOST_AUTO_TEST_CASE(packets_that_were_queued_for_one_life_of_a_peer_do_not_reach_the_next) {
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  Lives b(secret);
  a.link->connect(b.self.address);
  b.welcome();
  BOOST_REQUIRE(b.connect(a).done);
  a.sink.wait_ups(1);

  const auto send = [&](std::string_view text) {
    a.link->send("b", LinkLane::express, {testing::frame_of("header"), testing::frame_of(text)});
  };
  b.self.incarnation.low = 3;
  BOOST_TEST(b.connect(a).failed.has_value());  // so its address is asked
  b.welcome([&] {
    for (int i = 0; i < 100; ++i) send("to the former life");
    a.link->connect(a.link->address());  // refused at once, when the packets have been taken
    a.sink.wait_failures(1);
  });
  a.sink.wait_downs(1);
  BOOST_REQUIRE(b.connect(a).done);
  a.sink.wait_ups(2);
  send("to the present life");
  BOOST_TEST(b.next_packet() == "to the present life");
}

BOOST_AUTO_TEST_CASE(a_welcomed_node_that_makes_room_for_another_of_its_name_before_it_is_up_is_logged) {
  const ClusterSecret secret = ClusterSecret::random();
  std::promise<std::string> logged;
  bool is_logged = false;  // the link's thread
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", [&](ZmqLinkOptions& with) {
    with.log = [&](std::string_view line) {
      if (line.starts_with("gives up b") && !std::exchange(is_logged, true)) logged.set_value(std::string(line));
    };
  });
  Lives b(secret);
  b.self.address = "tcp://127.0.0.1:1";  // nobody is there
  BOOST_REQUIRE(b.connect(a).done);
  b.self.incarnation.low = 3;
  b.self.address = "tcp://127.0.0.1:2";
  BOOST_REQUIRE(b.connect(a).done);
  auto line = logged.get_future();
  BOOST_REQUIRE((line.wait_for(10s) == std::future_status::ready));
  BOOST_TEST(line.get() ==
             "gives up b at tcp://127.0.0.1:1, which it has not reached yet: another node of that name has come, from "
             "tcp://127.0.0.1:2");
}

BOOST_AUTO_TEST_CASE(connect_that_is_given_up_is_answered_at_once_and_may_be_repeated) {
  const ClusterSecret secret = ClusterSecret::random();
  const std::string place = "ipc://@troupe-test-given-up-" + std::to_string(::getpid());
  LinkOfTest a("a", 1, secret, place + "-a");
  a.link->connect(place);
  a.link->stop_connecting(place);
  a.sink.wait_failures(1);
  BOOST_TEST((a.sink.failures()[0].why.code == ErrorCode::cancelled));
  BOOST_TEST(a.sink.failures()[0].address == place);
  a.link->stop_connecting(place);  // the attempt was already answered
  LinkOfTest b("b", 2, secret, place);
  a.link->connect(place);
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  a.link->stop_connecting(place);  // too late
  a.link->send("b", LinkLane::express, {testing::frame_of("header"), testing::frame_of("x")});
  b.sink.wait_messages(1);
  BOOST_TEST(a.sink.failures().size() == 1U);
  BOOST_TEST(a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(every_connect_is_answered_by_a_link_that_repeats_ups) {
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", [](ZmqLinkOptions& with) { with.repeats_up = true; });
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  const std::string address = b.link->address();
  const std::string alias = "tcp://localhost" + address.substr(address.rfind(':'));
  std::size_t ups = 0;
  for (const std::string& asked : {address, address, alias, alias}) {
    a.link->connect(asked);
    a.sink.wait_ups(++ups);
  }
  b.link->connect(a.link->address());
  b.sink.wait_ups(1);
  b.link->send("a", LinkLane::express, {testing::frame_of("header"), testing::frame_of("x")});
  a.sink.wait_messages(1);
  BOOST_TEST(b.sink.ups().size() == 1U);
  BOOST_TEST(a.sink.ups().size() == 4U);
  BOOST_TEST(a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(hosts_that_accept_and_stay_silent_do_not_keep_others_waiting) {
  const SilentHosts silent;
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  for (const std::string& address : silent.addresses) a.link->connect(address);
  a.link->connect(b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  BOOST_TEST(a.sink.failures().empty());
}

BOOST_AUTO_TEST_CASE(attempts_that_are_given_up_wait_for_no_place) {
  const SilentHosts silent;
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  for (const std::string& address : silent.addresses) a.link->connect(address);
  for (const std::string& address : silent.addresses) a.link->stop_connecting(address);
  a.sink.wait_failures(silent.addresses.size());
  a.link->connect(b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
}

/// The members of `ring`, but `name` has `key`.
std::vector<KeyRing::Member> with_key(const KeyRing& ring, const NodeName& name, const PublicKey& key) {
  std::vector<KeyRing::Member> members = ring.members();
  for (KeyRing::Member& member : members) {
    if (member.name == name) member.key = key;
  }
  return members;
}

BOOST_AUTO_TEST_CASE(a_peer_with_a_new_key_stays_up_and_its_former_key_counts_no_more,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S12")) {
  testing::KeyedTwo two;
  const KeyPair former = two.rings[1].own_keys();
  const KeyPair fresh = KeyPair::random();
  const KeyPair worker = two.rings[2].own_keys();
  BOOST_REQUIRE(two.rings[0].replace_members(with_key(two.rings[0], "b", fresh.public_key())).ok());
  testing::KeyedClient thief(two.a.link->address(), &former, two.rings[0].own_keys().public_key());
  BOOST_TEST((thief.first_event() == ZmqSocket::Event::denied));
  two.b.send("a", "said with the former key");
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (two.a.link->counts().refused_messages == 0 && std::chrono::steady_clock::now() < due)
    std::this_thread::yield();
  BOOST_TEST(two.a.link->counts().refused_messages > 0U);

  BOOST_REQUIRE(two.rings[1].replace_members(with_key(two.rings[1], "b", fresh.public_key())).ok());
  two.rings[1].replace_own_keys(fresh);
  two.a.send("b", "to the new key");
  two.b.sink.wait_messages(1);
  two.b.send("a", "said with the new key");
  two.a.sink.wait_messages(1);
  BOOST_TEST(testing::text_of(two.a.sink.messages()[0].frames.at(1)) == "said with the new key");
  BOOST_TEST(two.a.sink.downs().empty());
  BOOST_TEST(two.b.sink.downs().empty());
  testing::KeyedClient with_former(two.b.link->address(), &worker, former.public_key());
  BOOST_TEST((with_former.first_event() == ZmqSocket::Event::broken_off));
  testing::KeyedClient with_new(two.b.link->address(), &worker, fresh.public_key());
  BOOST_TEST((with_new.first_event() == ZmqSocket::Event::connected));
}

// A member that lets newcomers in may name any: with keys only those that the owner of the cluster named are connected
// to.
BOOST_AUTO_TEST_CASE(thousands_of_members_that_never_were_take_no_descriptors_from_a_node_with_keys,
                     *boost::unit_test::label("attack")) {
  testing::KeyedTwo two;
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open_descriptors();
  constexpr std::size_t kGhosts = 3000;
  for (std::size_t i = 0; i < kGhosts; ++i) {
    two.a.link->connect_to(fmt::format("ghost{}", i), fmt::format("tcp://127.0.0.1:{}", 20'000 + i));
  }
  two.a.sink.wait_failures(kGhosts);
  BOOST_TEST((two.a.sink.failures().back().why.code == ErrorCode::not_authorized));
  BOOST_TEST(open_descriptors() <= before);
  two.check_still_up();
}

// As behind a firewall, or translated addresses, that let only one direction through.
BOOST_AUTO_TEST_CASE(nodes_of_which_only_one_reaches_the_other_say_both_addresses) {
  const ClusterSecret secret = ClusterSecret::random();
  const auto impatient = [](ZmqLinkOptions& with) { with.connect_patience = 2s; };
  std::promise<std::string> logged;
  bool is_logged = false;  // the link's thread
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", [&](ZmqLinkOptions& with) {
    impatient(with);
    with.log = [&](std::string_view line) {
      if (line.find("but not the other way round") != std::string_view::npos && !std::exchange(is_logged, true))
        logged.set_value(std::string(line));
    };
  });
  const std::string nowhere = "tcp://127.0.0.1:1";
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*", [&](ZmqLinkOptions& with) {
    impatient(with);
    with.advertise = nowhere;
  });
  b.link->connect(a.link->address());
  b.sink.wait_failures(1);
  const Error why = b.sink.failures()[0].why;
  BOOST_TEST((why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(why.message ==
             fmt::format("a, which answers at {}, did not connect back to {}", a.link->address(), nowhere));
  BOOST_TEST(why.hint.starts_with("a firewall, or address translation, lets only one direction through"));
  auto line = logged.get_future();
  BOOST_REQUIRE((line.wait_for(10s) == std::future_status::ready));
  const std::string said = line.get();
  BOOST_TEST(said.starts_with(nowhere + " "), said);
  BOOST_TEST(said.find(fmt::format(": b reaches this node at {}, but not the other way round; a firewall",
                                   a.link->address())) != std::string::npos,
             said);
}

BOOST_AUTO_TEST_CASE(every_address_that_was_connected_to_is_answered_when_their_one_node_does_not_come_up) {
  const ClusterSecret secret = ClusterSecret::random();
  const LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", [](ZmqLinkOptions& with) {
    with.connect_patience = 2s;
    with.advertise = "tcp://127.0.0.1:1";  // where b does not reach it
  });
  const std::string address = b.link->address();
  const std::string alias = "tcp://localhost" + address.substr(address.rfind(':'));
  a.link->connect(address);
  a.link->connect(alias);
  a.sink.wait_failures(2);
  std::set<std::string> answered;
  for (const auto& failure : a.sink.failures()) {
    BOOST_TEST((failure.why.code == ErrorCode::peer_unreachable));
    answered.insert(failure.address);
  }
  BOOST_TEST((answered == std::set{address, alias}));
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_reach_one_that_reaches_it_says_both_addresses) {
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", [](ZmqLinkOptions& with) { with.connect_patience = 2s; });
  const std::string nowhere = "tcp://127.0.0.1:1";
  const LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*", [&](ZmqLinkOptions& with) { with.advertise = nowhere; });
  b.link->connect(a.link->address());
  a.link->connect(nowhere);
  a.sink.wait_failures(1);
  const Error why = a.sink.failures()[0].why;
  BOOST_TEST((why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(why.message.find("b reaches this node at " + a.link->address()) != std::string::npos, why.message);
  BOOST_TEST(!why.hint.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
