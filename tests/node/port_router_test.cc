// The rules of a port by themselves: time and the link are this test's.
#include "node/port_router.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/node/recording_sink.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::frame_of;

const Peer kSelf{"a", {1, 1}, "test://a"};
const Peer kPeer{"b", {2, 2}, "test://b"};
const Error kCut{.code = ErrorCode::peer_down, .message = "connection closed"};

/// A port's router, and what it asked for as one line each.
struct World : private port::Router::Surroundings {
  void call(const std::string& to, Duration deadline, std::uint64_t tag = 1) {
    router.call(now, {to, tag, {}, now, now + deadline, [](const Port::Result&) {}});
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }

  void connect(const std::string& address) override { lines.push_back("connect " + address); }
  void disconnect(const NodeName& peer, const Farewell& /*farewell*/) override { lines.push_back("disconnect " + peer); }
  void transmit(const NodeName& to, LinkLane /*lane*/, Frames frames) override {
    lines.push_back("send " + to);
    sent = std::move(frames);
  }
  void serve(port::Request request) override { lines.push_back("serve " + request.from.name); }
  void end(Port::Done, Port::Outcome outcome, port::Body, std::string why) override {
    const char* const names[] = {"answered", "timeout", "peer_lost", "stopped"};
    lines.push_back(std::string(names[static_cast<int>(outcome)]) + ": " + why);
  }
  void warn(const std::string& line) override { lines.push_back("warn " + line); }

  TimePoint now{1000s};
  Frames sent;
  std::vector<std::string> lines;
  port::Router router{kSelf, 10s, *this};
};

using Lines = std::vector<std::string>;
const auto per_element = boost::test_tools::per_element();

}  // namespace

BOOST_AUTO_TEST_SUITE(port_router)

BOOST_AUTO_TEST_CASE(calls_wait_for_the_connection_and_leave_in_order_but_for_those_that_have_ended) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 1s);
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"connect test://b"}, per_element);
  world.now += 1s;
  BOOST_REQUIRE(world.router.next_due() == world.now);
  world.router.tick(world.now);
  BOOST_TEST(world.take() == Lines{"timeout: no answer within 1000 ms"}, per_element);
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  world.router.link_down("b", kPeer.incarnation, kCut);
  BOOST_TEST(world.take() == Lines{"peer_lost: b is gone: connection closed"}, per_element);
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"peer_lost: b is gone: connection closed"}, per_element);
}

BOOST_AUTO_TEST_CASE(life_that_was_lost_stays_lost_and_a_new_one_is_welcome) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.link_down("b", kPeer.incarnation, kCut);
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 60s);
  world.take();
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == (Lines{"disconnect b", "peer_lost: this life of b was lost or removed before"}), per_element);
  world.router.link_up(world.now, {"b", {2, 3}, "test://b"});
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  world.router.link_up(world.now, {"b", {2, 4}, "test://b"});
  BOOST_TEST(world.take() == Lines{"peer_lost: b was made again"}, per_element);
}

BOOST_AUTO_TEST_CASE(removed_name_stays_out_until_it_is_connected_to_again) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 60s);
  world.take();
  world.router.remove("b");
  BOOST_TEST(world.take() == Lines{"peer_lost: b was removed by this port"}, per_element);
  world.router.link_up(world.now, kPeer);  // the attempt was under way
  BOOST_TEST(world.take() == Lines{"disconnect b"}, per_element);
  world.router.connect(world.now, "b", "test://b");
  world.router.link_up(world.now, kPeer);
  world.call("b", 60s);
  BOOST_TEST(world.take() == (Lines{"connect test://b", "send b"}), per_element);
}

BOOST_AUTO_TEST_CASE(peer_that_does_not_come_up_is_given_up_after_twice_the_patience) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 1h);
  world.take();
  world.now += 20s;
  BOOST_REQUIRE(world.router.next_due() == world.now);
  world.router.tick(world.now);
  BOOST_TEST(world.take() == Lines{"peer_lost: b did not come up at test://b"}, per_element);
}

BOOST_AUTO_TEST_CASE(place_that_belongs_to_another_name_ends_the_wait_whoever_comes_first) {
  const std::string why = "peer_lost: the port at test://b calls itself b, not c";
  World world;
  world.router.connect(world.now, "c", "test://b");
  world.call("c", 60s);
  world.take();
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == Lines{why}, per_element);
  world.router.connect(world.now, "c", "test://b");  // b is up now: the link would have nothing to tell
  world.call("c", 60s);
  BOOST_TEST(world.take() == Lines{why}, per_element);
}

BOOST_AUTO_TEST_CASE(peer_that_the_link_takes_for_dead_is_lost) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.call("b", 1h);
  world.take();
  world.router.silent("b", {9, 9}, 10s);  // of another life
  BOOST_TEST(world.take().empty());
  world.router.silent("b", kPeer.incarnation, 10s);
  BOOST_TEST(world.take() == (Lines{"disconnect b", "peer_lost: nothing was heard of b for 10000 ms"}), per_element);
}

BOOST_AUTO_TEST_CASE(peer_that_sends_what_cannot_be_read_is_lost) {
  World world;
  world.router.link_up(world.now, kPeer);
  Session peer(kPeer.incarnation, kSelf.incarnation);
  auto sent = peer.send(world.now, pack({frame_of("nonsense")}));
  world.router.frames(world.now, "b", kPeer.incarnation, sent.value().at(0).frames);
  world.call("b", 60s);
  const std::string why = "b sent a message that cannot be read: raw header of 8 bytes";
  BOOST_TEST(world.take() == (Lines{"disconnect b", "peer_lost: " + why}), per_element);
  world.router.link_up(world.now, {"c", {3, 3}, "test://c"});
  world.router.frames(world.now, "c", {3, 3}, {frame_of("noise")});  // no session message: changes nothing
  BOOST_TEST(world.take() == Lines{"warn dropped bytes from c: session header of 5 bytes, expected 128"}, per_element);
}

BOOST_AUTO_TEST_CASE(answers_count_once_and_only_from_the_life_that_was_asked) {
  World world;
  world.call("a", 60s);
  BOOST_TEST(world.take() == Lines{"serve a"}, per_element);
  world.router.answer(world.now, {"a", {1, 7}}, {1}, port::Body{});
  BOOST_TEST(world.take().empty());
  world.router.answer(world.now, {"a", kSelf.incarnation}, {1}, port::Body{});
  world.router.answer(world.now, {"a", kSelf.incarnation}, {1}, port::Body{});
  BOOST_TEST(world.take() == Lines{"answered: "}, per_element);
}

BOOST_AUTO_TEST_CASE(delayed_and_dropped_calls_end_with_their_peer) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.set_fault(1, {.drop = true});
  world.router.set_fault(2, {.delay = 5s});
  world.call("b", 60s, 1);
  world.call("b", 60s, 2);
  world.call("b", 60s, 3);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  world.router.link_down("b", kPeer.incarnation, kCut);
  BOOST_TEST(world.take() == Lines(3, "peer_lost: b is gone: connection closed"), per_element);
  world.now += 5s;
  world.router.tick(world.now);
  BOOST_TEST(world.take().empty());
}

BOOST_AUTO_TEST_CASE(no_call_is_refused_for_what_already_waits_to_be_sent) {
  World world;
  world.router.link_up(world.now, kPeer);
  const Frame large = make_frame(std::vector<std::byte>(40 << 20));
  for (int i = 0; i < 4; ++i) {
    world.router.call(world.now, {"b", 1, {{large.bytes.size()}, {large}}, world.now, {}, {}});
  }
  const Lines lines = world.take();  // what the first grant allows of the first; the others wait
  BOOST_TEST(std::ranges::count(lines, "send b") == static_cast<long>(lines.size()));
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_end_is_flushed_once_it_is_acknowledged) {
  World world;
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.router.flushed());
  world.router.answer(world.now, {"b", kPeer.incarnation}, {1}, port::Body{});
  world.router.end_calls();
  BOOST_TEST(!world.router.flushed());
  Session peer(kPeer.incarnation, kSelf.incarnation);
  (void)peer.receive(world.now, world.sent);
  for (const Session::Packet& ack : peer.tick(world.now + 1h)) world.router.frames(world.now, "b", kPeer.incarnation, ack.frames);
  BOOST_TEST(world.router.flushed());
  world.call("b", 60s);
  BOOST_TEST(world.take() == (Lines{"send b", "stopped: the port has stopped"}), per_element);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
