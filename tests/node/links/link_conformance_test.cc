// Properties of every link: over memory, ZeroMQ over TCP with and without keys and unix sockets, and with shared
// memory.
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "actors/link.h"
#include "node/keys/key_ring.h"
#include "node/links/handshake.h"
#include "node/links/memory_link.h"
#include "node/links/shared_memory/shared_link.h"
#include "node/links/streams/stream_link.h"
#include "node/links/zmq_link.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(link_conformance)

using testing::frame_of;
using testing::RecordingSink;
using testing::text_of;
using namespace std::chrono_literals;

Incarnation fresh_incarnation() {
  const Nonce random = random_nonce();
  Incarnation incarnation;
  std::memcpy(&incarnation.high, random.data(), sizeof incarnation.high);
  std::memcpy(&incarnation.low, random.data() + sizeof incarnation.high, sizeof incarnation.low);
  return incarnation;
}

struct MemoryLinks {
  MemoryHub hub;
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    return std::make_unique<MemoryLink>(hub, name, incarnation);
  }
  static std::string nobodys_address() { return "memory://nobody"; }
};

class ZmqLinks {
 public:
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    auto opened = ZmqLink::open({.name = name,
                                 .incarnation = incarnation,
                                 .cluster_id = "conformance",
                                 .secret = secret_,
                                 .bind = bind_address(name),
                                 .advertise = {},
                                 .keys = keys_of(name),
                                 .connect_patience = 500ms,
                                 .log = {}});
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened ? "" : opened.error().message));
    return std::move(opened).value();
  }
  virtual ~ZmqLinks() = default;

 protected:
  virtual std::string bind_address(const NodeName& name) = 0;
  virtual std::optional<KeyRing> keys_of(const NodeName& /*name*/) { return std::nullopt; }

 private:
  ClusterSecret secret_ = ClusterSecret::random();
};

struct TcpLinks final : ZmqLinks {
  std::string bind_address(const NodeName&) override { return "tcp://127.0.0.1:*"; }
  static std::string nobodys_address() { return "tcp://127.0.0.1:1"; }
};

struct KeyedLinks final : ZmqLinks {
  std::string bind_address(const NodeName&) override { return "tcp://127.0.0.1:*"; }
  std::optional<KeyRing> keys_of(const NodeName& name) override {
    for (const KeyRing& ring : rings) {
      if (ring.own_name() == name) return ring;
    }
    throw std::invalid_argument(name + " has no keys");
  }
  static std::string nobodys_address() { return TcpLinks::nobodys_address(); }
  const std::vector<KeyRing> rings =
      make_run_keys(std::vector<NodeName>{"a", "b", "nobody", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"});
};

/// Bulk packets take streams as soon as these are open.
class StreamLinks {
 public:
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    return std::make_unique<StreamLink>(
        zmq_.make(name, incarnation),
        StreamLinkOptions{
            .name = name, .incarnation = incarnation, .keys = zmq_.keys_of(name), .receiver = {.host = "127.0.0.1"}});
  }
  static std::string nobodys_address() { return TcpLinks::nobodys_address(); }

 private:
  KeyedLinks zmq_;
};

struct IpcLinks final : ZmqLinks {
  std::string bind_address(const NodeName& name) override { return prefix + name; }
  static std::string nobodys_address() { return "ipc://@troupe-test-nobody"; }
  const std::string prefix = "ipc://@troupe-test-" + std::to_string(fresh_incarnation().low) + "-";
};

/// No bell and no news of a ring gets lost here: nothing may need to be made up for, however busy the machine is.
constexpr std::chrono::hours kRingPatience{1};

struct SharedLinks {
  IpcLinks inner;
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    return SharedLink::over(inner.make(name, incarnation), {.name = name, .ring_patience = kRingPatience}).value();
  }
  static std::string nobodys_address() { return IpcLinks::nobodys_address(); }
};

struct RingLinks {
  IpcLinks inner;
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    return SharedLink::over(inner.make(name, incarnation),
                            {.name = name, .ring_patience = kRingPatience, .packets_before_ring = 1})
        .value();
  }
  static std::string nobodys_address() { return IpcLinks::nobodys_address(); }
};

/// Tcp with keys, streams, and rings between nodes that turn out to be on one host.
struct KeyedRingLinks {
  StreamLinks inner;
  std::unique_ptr<Link> make(const NodeName& name, Incarnation incarnation) {
    return SharedLink::over(inner.make(name, incarnation),
                            {.name = name, .ring_patience = kRingPatience, .packets_before_ring = 1})
        .value();
  }
  static std::string nobodys_address() { return StreamLinks::nobodys_address(); }
};

/// A node that is only a link and records its link's events.
struct TestNode {
  TestNode(auto& links, const NodeName& named) : name(named), incarnation(fresh_incarnation()) {
    link = links.make(name, incarnation);
  }
  void start() { link->start(sink); }
  void send(const NodeName& to, std::string_view text) {
    link->send(to, LinkLane::express, {frame_of("header"), frame_of(text)});
  }

  NodeName name;
  Incarnation incarnation;
  RecordingSink sink;
  std::unique_ptr<Link> link;
};

/// Two connected nodes.
template <class Links>
struct Two {
  Two() {
    a.start();
    b.start();
    a.link->connect_to(b.name, b.link->address());
    a.sink.wait_ups(1);
    b.sink.wait_ups(1);
  }
  Links links;
  TestNode a{links, "a"};
  TestNode b{links, "b"};
};

using AllLinks =
    boost::mpl::list<MemoryLinks, TcpLinks, KeyedLinks, StreamLinks, IpcLinks, SharedLinks, RingLinks, KeyedRingLinks>;

BOOST_AUTO_TEST_CASE_TEMPLATE(both_sides_learn_who_is_up, Links, AllLinks) {
  Two<Links> two;
  BOOST_TEST((two.a.sink.ups()[0] == Peer{"b", two.b.incarnation, two.b.link->address()}));
  BOOST_TEST((two.b.sink.ups()[0] == Peer{"a", two.a.incarnation, two.a.link->address()}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(address_is_known_before_start_and_reachable_after_it, Links, AllLinks) {
  Links links;
  TestNode a(links, "a");
  TestNode b(links, "b");
  const std::string address = b.link->address();
  BOOST_TEST(!address.empty());
  a.start();
  a.link->connect_to("b", address);
  b.start();
  a.sink.wait_ups(1);
  BOOST_TEST(b.link->address() == address);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(messages_arrive_in_order_with_all_their_frames, Links, AllLinks) {
  Two<Links> two;
  constexpr int kMessages = 20'000;
  for (int i = 0; i < kMessages; ++i) {
    two.a.link->send("b", LinkLane::express, {frame_of("header"), frame_of(std::to_string(i)), frame_of("")});
  }
  two.b.sink.wait_messages(kMessages);
  const auto messages = two.b.sink.messages();
  for (int i = 0; i < kMessages; ++i) {
    const auto& message = messages[static_cast<std::size_t>(i)];
    BOOST_REQUIRE_EQUAL(message.frames.size(), 3U);
    BOOST_REQUIRE_EQUAL(text_of(message.frames[1]), std::to_string(i));
    BOOST_REQUIRE(message.frames[2].bytes.empty());
    BOOST_REQUIRE((message.from == "a" && message.incarnation == two.a.incarnation));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(up_precedes_the_first_message_also_when_it_is_sent_at_once, Links, AllLinks) {
  Links links;
  TestNode a(links, "a");
  TestNode b(links, "b");
  for (TestNode* node : {&a, &b}) {
    node->start();
  }
  a.link->connect_to(b.name, b.link->address());
  a.sink.wait_ups(1);
  a.send("b", "at once");
  b.sink.wait_messages(1);
  BOOST_TEST((b.sink.order() == std::vector<std::string>{"up a", "frames a"}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(packet_of_3_mib_arrives_whole_and_its_memory_is_released, Links, AllLinks) {
  Two<Links> two;
  auto owner = std::make_shared<std::string>(3 << 20, '\0');
  for (std::size_t i = 0; i < owner->size(); i += 4096) (*owner)[i] = static_cast<char>(i / 4096);
  const std::string copy = *owner;
  const std::weak_ptr<std::string> held = owner;
  Frames frames{frame_of("header"), Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = std::move(owner)}};
  two.a.link->send("b", LinkLane::bulk, std::move(frames));
  two.b.sink.wait_messages(1);
  BOOST_TEST((text_of(two.b.sink.messages()[0].frames[1]) == copy));
  two.b.sink.forget_messages();
  two.a.link.reset();  // releases all data that the link still holds
  BOOST_TEST(held.expired());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(single_frame_messages_arrive, Links, AllLinks) {
  Two<Links> two;
  for (int i = 0; i < 100; ++i) two.a.link->send("b", LinkLane::express, {frame_of(std::to_string(i))});
  two.b.sink.wait_messages(100);
  BOOST_TEST(two.b.sink.messages()[0].frames.size() == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(eight_nodes_are_all_up_with_each_other, Links, AllLinks) {
  Links links;
  std::vector<std::unique_ptr<TestNode>> nodes;
  for (int i = 0; i < 8; ++i) nodes.push_back(std::make_unique<TestNode>(links, fmt::format("n{}", i)));
  for (const auto& node : nodes) node->start();
  for (const auto& node : nodes) {
    for (const auto& other : nodes) {
      if (node != other) node->link->connect_to(other->name, other->link->address());
    }
  }
  for (const auto& node : nodes) node->sink.wait_ups(7);
  for (const auto& node : nodes) {
    for (const auto& other : nodes) {
      if (node != other) node->send(other->name, "from " + node->name);
    }
  }
  for (const auto& node : nodes) {
    node->sink.wait_messages(7);
    for (const auto& message : node->sink.messages()) BOOST_TEST(text_of(message.frames[1]) == "from " + message.from);
    BOOST_TEST(node->sink.ups().size() == 7U);
    BOOST_TEST(node->sink.downs().empty());
    BOOST_TEST(node->sink.failures().empty());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(connecting_twice_or_from_both_sides_is_one_connection, Links, AllLinks) {
  Links links;
  TestNode a(links, "a");
  TestNode b(links, "b");
  a.start();
  b.start();
  a.link->connect_to(b.name, b.link->address());
  b.link->connect_to(a.name, a.link->address());
  a.link->connect_to(b.name, b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  a.link->connect_to(b.name, b.link->address());
  a.send("b", "one");
  b.send("a", "two");
  a.sink.wait_messages(1);
  b.sink.wait_messages(1);
  BOOST_TEST(a.sink.ups().size() == 1U);
  BOOST_TEST(b.sink.ups().size() == 1U);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(disconnect_is_down_on_both_sides_and_a_later_connect_is_up_again, Links, AllLinks) {
  Two<Links> two;
  two.a.link->disconnect("b", {});
  two.a.sink.wait_downs(1);
  two.b.sink.wait_downs(1);
  BOOST_TEST((two.a.sink.downs()[0].why.code == ErrorCode::cancelled));
  BOOST_TEST(two.a.sink.downs()[0].why.message == "disconnected by this node");
  BOOST_TEST((two.b.sink.downs()[0].why.code == ErrorCode::peer_down));
  BOOST_TEST(two.b.sink.downs()[0].why.message == "disconnected by the peer");
  BOOST_TEST((two.b.sink.downs()[0].incarnation == two.a.incarnation));
  two.b.link->connect_to(two.a.name, two.a.link->address());
  two.a.sink.wait_ups(2);
  two.b.sink.wait_ups(2);
  two.a.send("b", "again");
  two.b.sink.wait_messages(1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_is_done_with_an_earlier_life_of_a_peer_stays_connected_to_the_next, Links, AllLinks) {
  Two<Links> two;
  two.a.link->disconnect("b", {.life = Incarnation{9, 9}});
  two.a.send("b", "still here");
  two.b.sink.wait_messages(1);
  two.a.link->disconnect("b", {.life = two.b.incarnation});
  two.a.sink.wait_downs(1);
  two.b.sink.wait_downs(1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(disconnected_peer_hears_why, Links, AllLinks) {
  Two<Links> two;
  two.a.link->disconnect("b", {ErrorCode::you_are_dead, "node a took this node for dead: nothing heard for 10.2 s"});
  two.b.sink.wait_downs(1);
  BOOST_TEST((two.b.sink.downs()[0].why.code == ErrorCode::you_are_dead));
  BOOST_TEST(two.b.sink.downs()[0].why.message == "node a took this node for dead: nothing heard for 10.2 s");
  two.a.sink.wait_downs(1);
  BOOST_TEST((two.a.sink.downs()[0].why.code == ErrorCode::cancelled));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(peer_that_stops_is_down_and_named, Links, AllLinks) {
  Two<Links> two;
  two.b.link->stop();
  two.a.sink.wait_downs(1);
  const auto down = two.a.sink.downs()[0];
  BOOST_TEST(down.peer == "b");
  BOOST_TEST((down.incarnation == two.b.incarnation));
  BOOST_TEST((down.why.code == ErrorCode::peer_down));
  BOOST_TEST(down.why.peer == "b");
  BOOST_TEST((down.why.incarnation == two.b.incarnation));
  BOOST_TEST(two.b.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(new_life_under_the_same_name_is_up_with_its_own_incarnation, Links, AllLinks) {
  Two<Links> two;
  two.b.link->stop();
  two.a.sink.wait_downs(1);
  two.b.link.reset();  // its address is free again
  TestNode again(two.links, "b");
  again.start();
  again.link->connect_to(two.a.name, two.a.link->address());
  two.a.sink.wait_ups(2);
  BOOST_TEST((two.a.sink.ups()[1].incarnation == again.incarnation));
  two.a.send("b", "to the new one");
  again.sink.wait_messages(1);
  BOOST_TEST(two.b.sink.messages().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(messages_to_nobody_are_dropped, Links, AllLinks) {
  Two<Links> two;
  two.a.send("nobody", "lost");
  two.a.send("b", "arrives");
  two.b.sink.wait_messages(1);
  BOOST_TEST(text_of(two.b.sink.messages()[0].frames[1]) == "arrives");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(connecting_where_nobody_listens_fails_with_the_address, Links, AllLinks) {
  Links links;
  TestNode a(links, "a");
  a.start();
  a.link->connect_to("nobody", Links::nobodys_address());
  a.sink.wait_failures(1);
  BOOST_TEST(a.sink.failures()[0].address == Links::nobodys_address());
  BOOST_TEST((a.sink.failures()[0].why.code == ErrorCode::peer_unreachable));
  BOOST_TEST((a.sink.failures()[0].why.execution == Execution::never));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(stop_while_other_threads_send_ends_in_time_and_silences_the_sink, Links, AllLinks) {
  Two<Links> two;
  std::atomic<bool> enough = false;
  std::vector<std::jthread> senders;
  for (int i = 0; i < 2; ++i) {
    senders.emplace_back([&] {
      while (!enough) two.a.send("b", std::string(1000, 'x'));
    });
    senders.emplace_back([&] {
      while (!enough) two.b.send("a", std::string(1000, 'x'));
    });
  }
  two.b.sink.wait_messages(100);
  const auto begin = std::chrono::steady_clock::now();
  two.b.link->stop();
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s));
  const std::size_t seen = two.b.sink.messages().size();
  two.a.sink.wait_downs(1);
  enough = true;
  senders.clear();
  two.a.link->stop();
  BOOST_TEST(two.b.sink.messages().size() == seen);
  two.a.link->stop();  // a second stop has no effect
}

BOOST_AUTO_TEST_CASE_TEMPLATE(answers_sent_from_within_the_sink_arrive, Links, AllLinks) {
  Links links;
  TestNode a(links, "a");
  TestNode b(links, "b");
  b.sink.answer_with(
      [&](const NodeName& from, const Frames& frames) { b.link->send(from, LinkLane::express, frames); });
  a.start();
  b.start();
  a.link->connect_to(b.name, b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  for (int i = 0; i < 1000; ++i) a.send("b", std::to_string(i));
  a.sink.wait_messages(1000);
  const auto messages = a.sink.messages();
  for (std::size_t i = 0; i < 1000; ++i) BOOST_TEST(text_of(messages[i].frames[1]) == std::to_string(i));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
