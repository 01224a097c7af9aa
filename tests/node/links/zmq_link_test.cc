// Properties of links between processes only: they prove the secret, survive hostile bytes, notice dead processes,
// reconnect.
#include "node/links/zmq_link.h"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "node/links/zmq_link_parts.h"
#include "tests/node/links/child_node.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::ChildNode;
using testing::frame_of;
using testing::RecordingSink;
using testing::text_of;

constexpr ZmqSocketLimits kNoLimits{
    .frame_bytes_max = 1 << 30, .frames_max = 1000, .queue_messages_max = 1000, .handshake_timeout = 2s};

ZmqLinkOptions options(const std::string& name, std::uint64_t incarnation, const ClusterSecret& secret) {
  return {.name = name,
          .incarnation = {.high = 1, .low = incarnation},
          .cluster_id = "test",
          .secret = secret,
          .bind = "tcp://127.0.0.1:*",
          .advertise = {},
          .connect_patience = 2s,
          .name_patience = 100ms,
          .log = {}};
}

struct TestNode {
  explicit TestNode(ZmqLinkOptions with) {
    auto opened = ZmqLink::open(std::move(with));
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
    link = std::move(opened).value();
    link->start(sink);
  }
  void send(const NodeName& to, std::string_view text) {
    link->send(to, LinkLane::express, {frame_of("header"), frame_of(text)});
  }

  RecordingSink sink;
  std::unique_ptr<ZmqLink> link;
};

/// Nodes a and b with one secret, connected to each other.
struct Two {
  explicit Two(const std::function<void(ZmqLinkOptions&)>& change = [](ZmqLinkOptions&) {})
      : a(changed("a", 1, change)), b(changed("b", 2, change)) {
    a.link->connect(b.link->address());
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
  }
  ZmqLinkOptions changed(const std::string& name, std::uint64_t incarnation,
                         const std::function<void(ZmqLinkOptions&)>& change) const {
    ZmqLinkOptions with = options(name, incarnation, secret);
    change(with);
    return with;
  }
  void check_still_up() {
    a.send("b", "still");
    b.send("a", "up");
    a.sink.wait_messages(1);
    b.sink.wait_messages(1);
    BOOST_TEST(a.sink.downs().empty());
    BOOST_TEST(b.sink.downs().empty());
  }

  ClusterSecret secret = ClusterSecret::random();
  TestNode a;
  TestNode b;
};

/// A ZeroMQ client that does not know Troupe's protocol.
struct Stranger {
  explicit Stranger(const std::string& address) {
    BOOST_REQUIRE(socket.tell(ready, 0).ok());
    BOOST_REQUIRE(socket.connect(address).ok());
    BOOST_REQUIRE(wait_for(ZmqSocket::Event::connected));
  }
  bool wait_for(ZmqSocket::Event wanted) {
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    while (std::chrono::steady_clock::now() < deadline) {
      if (std::ranges::count(socket.events(), wanted) > 0) return true;
      wait();
    }
    return false;
  }
  void send(const Frames& frames) {
    while (!socket.send(frames)) wait();
  }
  std::optional<Frames> receive() {
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    while (std::chrono::steady_clock::now() < deadline) {
      if (auto message = socket.receive()) return message;
      wait();
    }
    return std::nullopt;
  }
  /// Sends hello, which needs no secret, and waits for the challenge: earlier data has been read by then.
  void wait_until_everything_was_read() { (void)say_hello(); }
  handshake::Challenge say_hello() {
    const HandshakeClient client({.peer = {.name = "stranger", .address = "tcp://127.0.0.1:1"}, .cluster_id = "test"},
                                 ClusterSecret::random(), random_nonce());
    send({make_frame({client.hello().begin(), client.hello().end()})});
    while (const std::optional<Frames> answer = receive()) {
      const auto message = handshake::decode(answer->at(0).bytes, kProtocolVersionMin, kProtocolVersionMax).value();
      if (const auto* challenge = std::get_if<handshake::Challenge>(&message)) return *challenge;
    }
    throw std::runtime_error("no challenge came");
  }
  void wait() { (void)ready.wait(100ms); }

  ReadySet ready;
  ZmqContext context;
  ZmqSocket socket = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, kNoLimits).value();
};

/// Cuts every TCP connection that this process made to `address`, as a firewall or `ss -K` does. Returns their number.
int cut_connections(const std::string& address) {
  int cut = 0;
  const auto port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  for (int descriptor = 3; descriptor < 4096; ++descriptor) {
    sockaddr_in end{};
    socklen_t size = sizeof end;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&end), &size) != 0 || end.sin_family != AF_INET) continue;
    if (end.sin_port == port && ::shutdown(descriptor, SHUT_RDWR) == 0) ++cut;
  }
  return cut;
}

BOOST_AUTO_TEST_SUITE(zmq_link_child, *boost::unit_test::disabled())

/// Not a test: the process that ChildNode starts. It ends with its parent.
BOOST_AUTO_TEST_CASE(run_a_node_until_killed) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  if (suite.argc < 7) return;
  const std::vector<std::string> words(suite.argv + 1, suite.argv + 7);
  const ClusterSecret secret = ClusterSecret::from_descriptor(std::stoi(words[2])).value();
  ZmqLinkOptions with = options("child", std::stoull(words[1]), secret);
  const bool has_name = words[0].starts_with("tcp://localhost");  // an address by name, which peers get with the port
  with.bind = has_name ? "tcp://127.0.0.1:*" : words[0];
  with.advertise = has_name ? words[0] : "";
  with.silence.lease = std::chrono::milliseconds(std::stoll(words[5]));
  TestNode node(std::move(with));
  const std::string line = node.link->address() + "\n";
  BOOST_REQUIRE(::write(std::stoi(words[3]), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  char nothing = 0;
  (void)!::read(std::stoi(words[4]), &nothing, 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(zmq_link)

void check_killed_is_down(TestNode& node, ChildNode& child) {
  const auto killed = std::chrono::steady_clock::now();
  child.kill();
  node.sink.wait_downs(1);
  const std::chrono::duration<double, std::milli> noticed = std::chrono::steady_clock::now() - killed;
  BOOST_TEST_MESSAGE("noticed after " << noticed.count() << " ms");
  BOOST_TEST((noticed < 1s));  // the goal is 100 ms on an idle machine: tests/chaos
  BOOST_TEST((node.sink.downs()[0].why.code == ErrorCode::peer_down));
  BOOST_TEST(node.sink.downs()[0].why.message == "connection closed");
  BOOST_TEST(node.sink.downs()[0].peer == "child");
  BOOST_TEST(node.sink.downs()[0].incarnation.low == 2U);
}

void check_killed_process_is_down(const std::string& bind) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode node(options("survivor", 1, secret));
  ChildNode child(secret, bind, 2);
  BOOST_TEST_REQUIRE(child.address().starts_with(bind.substr(0, bind.rfind('*'))));
  node.link->connect(child.address());
  node.sink.wait_ups(1);
  node.send("child", "hello");
  check_killed_is_down(node, child);
}

BOOST_AUTO_TEST_CASE(killed_process_behind_tcp_is_down_with_its_name, *boost::unit_test::label("fault-F12")) {
  check_killed_process_is_down("tcp://127.0.0.1:*");
}

BOOST_AUTO_TEST_CASE(killed_process_behind_the_name_of_a_host_is_down_with_its_name,
                     *boost::unit_test::label("fault-F12")) {
  check_killed_process_is_down("tcp://localhost:*");
}

BOOST_AUTO_TEST_CASE(killed_process_behind_a_unix_socket_is_down_with_its_name, *boost::unit_test::label("fault-F12")) {
  check_killed_process_is_down("ipc://@troupe-test-child-" + std::to_string(::getpid()));
}

BOOST_AUTO_TEST_CASE(process_that_came_back_before_its_death_was_noticed_is_restarted_then_up,
                     *boost::unit_test::label("fault-F15")) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode node(options("survivor", 1, secret));
  auto child = std::make_unique<ChildNode>(secret, "tcp://127.0.0.1:*", 2);
  const std::string address = child->address();

  // Another node makes the survivor's link thread wait while the child is killed and restarted.
  std::promise<void> holding;
  std::promise<void> go_on;
  node.sink.answer_with([&](const NodeName&, const Frames&) {
    holding.set_value();
    go_on.get_future().wait();
  });
  TestNode holder(options("holder", 3, secret));
  holder.link->connect(node.link->address());
  holder.sink.wait_ups(1);
  node.link->connect(address);
  node.sink.wait_ups(2);
  holder.send("survivor", "hold on");
  auto held = holding.get_future();
  BOOST_REQUIRE((held.wait_for(10s) == std::future_status::ready));
  child->kill();
  child.reset();
  ChildNode again(secret, address, 4);
  go_on.set_value();

  node.sink.wait_ups(3);
  BOOST_TEST(node.sink.ups()[2].incarnation.low == 4U);
  BOOST_REQUIRE_EQUAL(node.sink.downs().size(), 1U);
  BOOST_TEST((node.sink.downs()[0].why.code == ErrorCode::peer_restarted));
  BOOST_TEST(node.sink.downs()[0].incarnation.low == 2U);
}

void check_stopped_process_goes_on(const std::string& bind) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode node(options("survivor", 1, secret));
  ChildNode child(secret, bind, 2);
  node.link->connect(child.address());
  node.sink.wait_ups(1);
  child.signal(SIGSTOP);
  node.sink.wait([&] { return node.sink.reaches().size() == 1U; });
  child.signal(SIGCONT);
  node.sink.wait([&] { return node.sink.reaches().size() == 2U; });
  BOOST_TEST(
      (node.sink.reaches()[0].change == Reach::unreachable && node.sink.reaches()[1].change == Reach::reachable));
  BOOST_TEST(node.sink.downs().empty());
  check_killed_is_down(node, child);  // also for a connection made some time ago
}

BOOST_AUTO_TEST_CASE(stopped_process_is_unreachable_until_it_goes_on_and_down_when_it_ends,
                     *boost::unit_test::label("fault-F13")) {
  check_stopped_process_goes_on("tcp://127.0.0.1:*");
  check_stopped_process_goes_on("ipc://@troupe-test-stopped-" + std::to_string(::getpid()));
}

BOOST_AUTO_TEST_CASE(stopped_process_is_down_after_the_longer_lease_of_both, *boost::unit_test::label("fault-F13")) {
  const ClusterSecret secret = ClusterSecret::random();
  ZmqLinkOptions with = options("survivor", 1, secret);
  with.silence.lease = 1s;
  TestNode node(std::move(with));
  ChildNode child(secret, "tcp://127.0.0.1:*", 2, 2s);
  node.link->connect(child.address());
  node.sink.wait_ups(1);
  child.signal(SIGSTOP);
  node.sink.wait([&] { return node.sink.reaches().size() == 2U; });
  BOOST_TEST((node.sink.reaches()[1].change == Reach::down));
  BOOST_TEST((node.sink.reaches()[1].silence >= 2s));
  BOOST_TEST(node.sink.downs().empty());  // the link ends nothing by itself
}

BOOST_AUTO_TEST_CASE(heartbeats_go_out_while_the_links_thread_is_held_up, *boost::unit_test::label("fault-F33")) {
  Two two([](ZmqLinkOptions& with) {
    with.advertise = "tcp://localhost:*";
    with.silence.suspicion = 1s;
  });
  std::promise<void> holding;
  std::promise<void> go_on;
  two.b.sink.answer_with([&](const NodeName&, const Frames&) {
    holding.set_value();
    go_on.get_future().wait();
  });
  two.a.send("b", "hold on");
  auto held = holding.get_future();
  BOOST_REQUIRE((held.wait_for(10s) == std::future_status::ready));
  BOOST_TEST(!two.a.sink.changes.wait(5s, [&] { return !two.a.sink.reaches().empty(); }));
  go_on.set_value();
}

BOOST_AUTO_TEST_CASE(peers_over_a_unix_socket_send_beats_to_a_socket_each) {
  ZmqLinkOptions with = options("a", 1, ClusterSecret::random());
  with.bind = "ipc://@troupe-beats-of-each-" + std::to_string(::getpid());
  const TestNode a(std::move(with));
  Stranger one(a.link->address()), other(a.link->address());
  BOOST_TEST(one.say_hello().pulse.address != other.say_hello().pulse.address);
}

BOOST_AUTO_TEST_CASE(connection_that_is_cut_is_made_again_and_not_reported, *boost::unit_test::label("fault-F05")) {
  Two two;
  BOOST_TEST(cut_connections(two.b.link->address()) >= 1);
  // Data sent before the death was noticed is lost: the session repeats it.
  for (int attempt = 0; attempt < 200; ++attempt) {
    two.a.send("b", "again");
    if (two.b.sink.changes.wait(50ms, [&] { return !two.b.sink.messages().empty(); })) break;
  }
  two.check_still_up();
  BOOST_TEST(two.a.sink.ups().size() == 1U);
  BOOST_TEST(two.b.sink.ups().size() == 1U);
}

BOOST_AUTO_TEST_CASE(second_node_of_a_live_name_is_refused, *boost::unit_test::label("fault-F43")) {
  Two two;
  TestNode impostor(options("b", 99, two.secret));
  impostor.link->connect(two.a.link->address());
  impostor.sink.wait_failures(1);
  BOOST_TEST((impostor.sink.failures()[0].why.code == ErrorCode::name_in_use));
  BOOST_TEST(impostor.sink.failures()[0].why.message == "another node is up under the name b");
  TestNode own_name(options("a", 98, two.secret));
  own_name.link->connect(two.a.link->address());
  own_name.sink.wait_failures(1);
  BOOST_TEST((own_name.sink.failures()[0].why.code == ErrorCode::name_in_use));
  two.check_still_up();
  BOOST_TEST(two.a.sink.ups().size() == 1U);
}

BOOST_AUTO_TEST_CASE(wrong_secret_fails_at_once_on_both_sides_and_is_not_printed,
                     *boost::unit_test::label("fault-F44")) {
  std::promise<std::string> logged;
  const ClusterSecret right = ClusterSecret::random();
  const ClusterSecret wrong = ClusterSecret::random();
  ZmqLinkOptions with = options("a", 1, right);
  with.log = [&](std::string_view line) { logged.set_value(std::string(line)); };
  TestNode a(std::move(with));
  TestNode stranger(options("stranger", 2, wrong));
  const auto begin = std::chrono::steady_clock::now();
  stranger.link->connect(a.link->address());
  stranger.sink.wait_failures(1);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s));
  BOOST_TEST((stranger.sink.failures()[0].why.code == ErrorCode::auth_failed));
  BOOST_TEST(stranger.sink.failures()[0].address == a.link->address());
  auto line = logged.get_future();
  BOOST_REQUIRE((line.wait_for(5s) == std::future_status::ready));
  BOOST_TEST(
      line.get() ==
      "refused a connection that calls itself stranger: the peer refused: the cluster secrets differ (auth_failed)");
  BOOST_TEST(a.link->counts().refused_handshakes == 1U);
  BOOST_TEST(a.sink.ups().empty());
  BOOST_TEST(stranger.sink.ups().empty());
}

BOOST_AUTO_TEST_CASE(node_of_another_cluster_is_refused) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode a(options("a", 1, secret));
  ZmqLinkOptions with = options("b", 2, secret);
  with.cluster_id = "other";
  TestNode b(std::move(with));
  b.link->connect(a.link->address());
  b.sink.wait_failures(1);
  BOOST_TEST((b.sink.failures()[0].why.code == ErrorCode::not_joined));
  BOOST_TEST(b.sink.failures()[0].why.message == "the peer belongs to another cluster than \"other\"");
}

BOOST_AUTO_TEST_CASE(garbage_from_zeromq_clients_changes_nothing, *boost::unit_test::label("fault-F42")) {
  Two two;
  Stranger stranger(two.a.link->address());
  const std::string hello_start{"TRPH\x01", 5};
  for (const std::string& garbage : {std::string{}, std::string{"x"}, std::string("TRPH"), hello_start,
                                     hello_start + std::string(200, '\xFF'), std::string("TRPL"), std::string(20, '\0'),
                                     std::string("TRPL") + std::string(16, '\xFF'), std::string(100'000, 'x')}) {
    stranger.send({frame_of(garbage)});
    stranger.send({frame_of(garbage), frame_of(garbage), frame_of("")});
  }
  stranger.wait_until_everything_was_read();
  const ZmqLinkCounts counts = two.a.link->counts();
  BOOST_TEST(counts.refused_handshakes + counts.refused_messages == 18U);
  two.check_still_up();
  BOOST_TEST(two.a.sink.messages().size() == 1U);
}

BOOST_AUTO_TEST_CASE(garbage_from_raw_connections_changes_nothing) {
  Two two;
  const std::string address = two.a.link->address();
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const std::string& garbage :
       {std::string(1000, '\0'), std::string(1000, '\xFF'), std::string("GET / HTTP/1.1\r\n\r\n")}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    BOOST_REQUIRE(::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    BOOST_TEST(::send(socket, garbage.data(), garbage.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(garbage.size()));
    ::close(socket);
  }
  two.check_still_up();
}

BOOST_AUTO_TEST_CASE(messages_without_a_valid_token_are_refused, *boost::unit_test::label("fault-F44")) {
  Two two;
  Stranger stranger(two.a.link->address());
  for (std::uint32_t slot = 0; slot < 4; ++slot) {  // b has slot 1
    stranger.send({encode(ZmqEnvelope{.slot = slot, .token = SessionToken{}}), frame_of("forged"), frame_of("x")});
  }
  stranger.send({encode(ZmqEnvelope{.kind = ZmqEnvelope::Kind::bye, .slot = 1, .token = SessionToken{}})});
  stranger.wait_until_everything_was_read();
  BOOST_TEST(two.a.link->counts().refused_messages == 5U);
  two.check_still_up();
  BOOST_TEST(two.a.sink.messages().size() == 1U);
}

BOOST_AUTO_TEST_CASE(frame_above_the_limit_closes_the_connection_of_its_sender_only,
                     *boost::unit_test::label("fault-F42")) {
  Two two([](ZmqLinkOptions& with) { with.frame_bytes_max = 64 << 10; });
  Stranger stranger(two.a.link->address());
  stranger.send({frame_of(std::string(65 << 10, 'x'))});
  BOOST_TEST(stranger.wait_for(ZmqSocket::Event::disconnected));
  two.check_still_up();
}

BOOST_AUTO_TEST_CASE(frame_above_the_limit_is_not_sent_at_all) {
  std::promise<std::string> logged;
  Two two([&](ZmqLinkOptions& with) {
    with.frame_bytes_max = 64 << 10;
    if (with.name == "a") with.log = [&](std::string_view line) { logged.set_value(std::string(line)); };
  });
  two.a.send("b", std::string((64 << 10) + 1, 'x'));
  two.check_still_up();
  BOOST_TEST(logged.get_future().get() == "dropped a message to b: a frame of 65537 bytes exceeds 65536");
  BOOST_TEST(two.a.link->counts().dropped_messages == 1U);
  BOOST_TEST(two.a.link->counts().reconnects == 0U);
}

BOOST_AUTO_TEST_CASE(message_of_too_many_frames_is_refused) {
  Two two([](ZmqLinkOptions& with) { with.frames_max = 8; });
  two.a.link->send("b", LinkLane::express, Frames(9, frame_of("x")));
  two.check_still_up();
  BOOST_TEST(two.b.sink.messages().size() == 1U);
  BOOST_TEST(two.b.link->counts().refused_messages == 1U);
}

BOOST_AUTO_TEST_CASE(express_packets_overtake_bulk_ones) {
  Two two;
  auto bulk = std::make_shared<const std::string>(2 << 20, 'x');
  // The first bulk packet makes the bulk connection. Packets leave on both connections in any order.
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::size_t before = two.b.sink.messages().size();
    for (int i = 0; i < 16; ++i) {
      two.a.link->send("b", LinkLane::bulk,
                       {frame_of("header"), Frame{.bytes = std::as_bytes(std::span{*bulk}), .owner = bulk}});
    }
    two.a.link->send("b", LinkLane::express, {frame_of("small")});
    two.b.sink.wait_messages(before + 17);
    const bool overtook = two.b.sink.messages().back().frames.size() == 2;
    two.b.sink.forget_messages();
    if (overtook) return;
  }
  BOOST_FAIL("the small packet was the last to arrive, 20 times");
}

/// A new connection is waited for before its events were ever read. If it were not signalled, the end of a process
/// would be noticed by its silence only.
BOOST_AUTO_TEST_CASE(refused_connection_is_told_of_before_anybody_has_looked, *boost::unit_test::label("fault-F12")) {
  ReadySet ready;
  ZmqContext context;
  ZmqSocket socket = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, kNoLimits).value();
  BOOST_REQUIRE(socket.connect("ipc://@troupe-test-nobody-" + std::to_string(::getpid())).ok());
  BOOST_REQUIRE(socket.tell(ready, 1).ok());
  // has_news() consumes events of the connection itself but not of its end, which is signalled again and again.
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST_REQUIRE(!ready.wait(10s).empty());
    static_cast<void>(socket.has_news(true));
  }
  BOOST_TEST(std::ranges::count(socket.events(), ZmqSocket::Event::refused) > 0);
}

BOOST_AUTO_TEST_CASE(listener_that_never_answers_is_given_up) {
  ZmqContext context;
  ZmqSocket silent = ZmqSocket::open(context, ZmqSocket::Kind::router, kNoLimits).value();
  const std::string address = silent.bind("tcp://127.0.0.1:*").value();
  ZmqLinkOptions with = options("a", 1, ClusterSecret::random());
  with.connect_patience = 300ms;
  with.handshake_timeout = 50ms;
  TestNode a(std::move(with));
  a.link->connect(address);
  a.sink.wait_failures(1);
  BOOST_TEST((a.sink.failures()[0].why.code == ErrorCode::peer_unreachable));
  BOOST_TEST(a.sink.failures()[0].why.message.starts_with(address + " did not "));
}

BOOST_AUTO_TEST_CASE(two_spellings_of_an_address_are_one_peer) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode a(options("a", 1, secret));
  TestNode b(options("b", 2, secret));
  const std::string address = b.link->address();
  a.link->connect("tcp://localhost" + address.substr(address.rfind(':')));
  a.link->connect(address);
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  a.send("b", "x");
  b.sink.wait_messages(1);
  b.send("a", "y");
  a.sink.wait_messages(1);
  BOOST_TEST(a.sink.ups().size() == 1U);
  BOOST_TEST(b.sink.ups().size() == 1U);
}

/// A peer has up to two connections, each watched by another socket.
BOOST_AUTO_TEST_CASE(one_context_has_sockets_for_more_than_340_peers) {
  const ClusterSecret secret = ClusterSecret::random();
  const TestNode raises_the_limit_of_descriptors(options("a", 1, secret));
  rlimit limit{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  BOOST_TEST(limit.rlim_cur == limit.rlim_max);
  ZmqContext context;
  std::vector<ZmqSocket> sockets;
  constexpr int kSockets = 700;  // and as many monitors
  for (int i = 0; i < kSockets; ++i) {
    Result<ZmqSocket> opened = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, kNoLimits);
    BOOST_TEST_REQUIRE(opened.ok(), i << " sockets");
    sockets.push_back(std::move(opened).value());
  }
}

BOOST_AUTO_TEST_CASE(addresses_that_cannot_be_used_are_clear_errors, *boost::unit_test::label("I-14")) {
  const ClusterSecret secret = ClusterSecret::random();
  TestNode a(options("a", 1, secret));
  const auto error = [&](const std::string& name, const std::string& bind) {
    ZmqLinkOptions with = options(name, 2, secret);
    with.bind = bind;
    return ZmqLink::open(std::move(with)).error();
  };
  const Error taken = error("b", a.link->address());
  BOOST_TEST((taken.code == ErrorCode::resource_exhausted));
  BOOST_TEST(taken.message == "cannot listen at " + a.link->address() + ": Address already in use");
  for (const std::string open_to_all :
       {"tcp://*:*", "tcp://0.0.0.0:*", "tcp://eth0:0", "tcp://[::]:*", "tcp://10.0.0.1:1"}) {
    const Error exposed = error("b", open_to_all);
    BOOST_TEST((exposed.code == ErrorCode::not_authorized));
    BOOST_TEST(exposed.message == open_to_all + " can be reached from other machines");
  }
  BOOST_TEST((error("b", "nonsense").code == ErrorCode::bad_argument));
  BOOST_TEST((error("not a name", "tcp://127.0.0.1:*").code == ErrorCode::invalid_name));

  a.link->connect("nonsense");
  a.link->connect(a.link->address());
  a.sink.wait_failures(2);
  for (const auto& failure : a.sink.failures()) BOOST_TEST((failure.why.code == ErrorCode::bad_argument));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
