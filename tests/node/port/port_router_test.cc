// The rules of a port alone: the test controls time and link.
#include "node/port/port_router.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/counting_new.h"
#include "tests/support/recording_sink.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(port_router)

namespace {

using namespace std::chrono_literals;
using testing::frame_of;

const Peer kSelf{"a", {1, 1}, "test://a"};
const Peer kPeer{"b", {2, 2}, "test://b"};
const Error kCut{.code = ErrorCode::peer_down, .message = "connection closed"};

/// A port's router, and its requests as one line each.
struct World : private port::Router::Callbacks {
  void call(const std::string& to, Duration deadline, std::uint64_t tag = 1) {
    router.call(now, {to, tag, {}, now, now + deadline, {}});
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }

  void connect(const std::string& address) override { lines.push_back("connect " + address); }
  void stop_connecting(const std::string& address) override { lines.push_back("stop connecting " + address); }
  void disconnect(const NodeName& peer, const Farewell& /*farewell*/) override {
    lines.push_back("disconnect " + peer);
  }
  void transmit(const NodeName& to, LinkLane /*lane*/, Frames frames) override {
    lines.push_back("send " + to);
    packets.push_back(frames);
    sent = std::move(frames);
  }
  void serve(port::Request request) override {
    lines.push_back("serve " + request.from.name);
    served.push_back(std::move(request));
  }
  void end(std::shared_ptr<port::Ending>, Port::Outcome outcome, port::Body, std::string why) noexcept override {
    const char* const names[] = {"answered", "timeout", "peer_lost", "stopped"};
    lines.push_back(std::string(names[static_cast<int>(outcome)]) + ": " + why);
  }
  void warn(const std::string& line) override { lines.push_back("warn " + line); }

  /// Makes a call with one part of `bytes` bytes.
  void call_with(std::size_t bytes, std::uint64_t tag, std::optional<Duration> deadline = {}) {
    const Frame part = make_frame(std::vector<std::byte>(bytes));
    const auto due = deadline ? std::optional(now + *deadline) : std::nullopt;
    router.call(now, {"b", tag, {{bytes}, {part}}, now, due, {}});
  }
  /// Carries packets between the router and kPeer's session `peer` until none is left. Returns the tags of the received
  /// calls.
  std::vector<std::uint64_t> deliver_to(Session& peer) {
    std::vector<std::uint64_t> tags;
    while (!packets.empty()) {
      auto received = peer.receive(now, std::exchange(packets.front(), {}));
      packets.pop_front();
      BOOST_REQUIRE(received.ok());
      for (Session::Delivered& one : received.value().delivered)
        tags.push_back(port::decode(std::move(one.frames)).value().tag);
      for (Session::Packet& back : received.value().on_link)
        router.frames(now, "b", kPeer.incarnation, std::move(back.frames));
    }
    return tags;
  }

  TimePoint now{1000s};
  Frames sent;
  std::deque<Frames> packets;  ///< all sent packets
  std::vector<port::Request> served;
  std::vector<std::string> lines;
  port::Router router{kSelf, 10s, *this};
};

using Lines = std::vector<std::string>;
const auto per_element = boost::test_tools::per_element();

}  // namespace

BOOST_AUTO_TEST_CASE(of_peers_that_are_gone_the_last_are_remembered) {
  World world;
  const auto comes_and_goes = [&](const NodeName& name, std::uint64_t life) {
    world.router.link_up(world.now, {name, {life, life}, "test://" + name});
    world.router.link_down(name, {life, life}, kCut);
  };
  const auto call_ends = [&](const NodeName& name) {
    world.take();
    world.call(name, 60s);
    return world.take().at(0);
  };
  world.router.link_up(world.now, kPeer);
  comes_and_goes("first", 1);
  comes_and_goes("again", 1);
  for (std::size_t number = 0; number + 2 < port::Router::kGoneMax; ++number)
    comes_and_goes("w" + std::to_string(number), 1);
  comes_and_goes("again", 2);
  BOOST_TEST(call_ends("first") == "peer_lost: first is gone: connection closed");
  comes_and_goes("last", 1);
  BOOST_TEST(call_ends("first") == "peer_lost: first was never connected");
  BOOST_TEST(call_ends("again") == "peer_lost: again is gone: connection closed");
  BOOST_TEST(call_ends("w0") == "peer_lost: w0 is gone: connection closed");
  BOOST_TEST(call_ends("b") == "send b");
}

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

BOOST_AUTO_TEST_CASE(call_whose_deadline_has_passed_is_not_sent_however_late_the_connection_comes) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 1s);
  world.call("b", 60s);
  world.take();
  world.now += 2s;  // the tick for the deadline is late
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == (Lines{"timeout: no answer within 1000 ms", "send b"}), per_element);
}

BOOST_AUTO_TEST_CASE(call_delayed_past_its_deadline_is_not_sent_however_late_the_tick_comes) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.set_fault(1, {.delay = 2s});
  world.call("b", 3s, 1);
  world.call("b", 2s, 1);
  world.call("a", 3s, 1);  // a call to the port itself: not served
  world.now += 4s;         // one late tick for all of them
  world.router.tick(world.now);
  BOOST_TEST(world.take() == (Lines{"timeout: no answer within 2000 ms", "timeout: no answer within 3000 ms",
                                    "timeout: no answer within 3000 ms"}),
             per_element);
}

BOOST_AUTO_TEST_CASE(call_delayed_for_ever_ends_at_its_deadline) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.set_fault(1, {.delay = Port::Time::max()});
  world.call("b", 1s);
  world.router.tick(world.now);
  BOOST_TEST(world.take().empty());
  world.now += 1s;
  world.router.tick(world.now);
  BOOST_TEST(world.take() == Lines{"timeout: no answer within 1000 ms"}, per_element);
}

BOOST_AUTO_TEST_CASE(call_that_waits_behind_others_past_its_deadline_is_not_sent) {
  World world;
  world.router.link_up(world.now, kPeer);
  Session peer(kPeer.incarnation, kSelf.incarnation);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) world.call_with(8 << 20, tag);  // more than may be in flight at a time
  world.call_with(8 << 20, 4, 1s);
  world.call_with(8 << 20, 5, 60s);
  world.now += 1s;
  world.router.tick(world.now);
  BOOST_TEST(std::ranges::count(world.take(), "timeout: no answer within 1000 ms") == 1);
  BOOST_TEST(world.deliver_to(peer) == (std::vector<std::uint64_t>{1, 2, 3, 5}), per_element);
}

BOOST_AUTO_TEST_CASE(what_has_left_of_a_call_at_its_deadline_is_taken_back) {
  World world;
  world.router.link_up(world.now, kPeer);
  Session peer(kPeer.incarnation, kSelf.incarnation);
  world.call_with(40 << 20, 1, 1s);
  world.call_with(8 << 20, 2, 60s);
  world.now += 1s;
  world.router.tick(world.now);
  BOOST_TEST(world.deliver_to(peer) == (std::vector<std::uint64_t>{2}), per_element);
  world.now += 1s;  // acknowledgements are due
  for (Session::Packet& packet : peer.tick(world.now))
    world.router.frames(world.now, "b", kPeer.incarnation, std::move(packet.frames));
  BOOST_TEST(world.router.flushed());
}

BOOST_AUTO_TEST_CASE(request_says_when_its_caller_stops_waiting) {
  World world;
  world.router.link_up(world.now, kPeer);
  Session peer(kPeer.incarnation, kSelf.incarnation);
  for (const std::optional<TimePoint>& due : {std::optional<TimePoint>(world.now + 5s), std::optional<TimePoint>()}) {
    Frames request = port::encode({.kind = port::Message::Kind::call, .request = {1}, .tag = 1, .body = {}});
    auto sent = peer.send(world.now, pack(std::move(request)), {.due = due});
    world.now += 1s;  // still in flight
    world.router.frames(world.now, "b", kPeer.incarnation, sent.value().at(0).frames);
    BOOST_REQUIRE_EQUAL(world.served.size(), 1U);
    BOOST_TEST((world.served.front().due == (due ? std::optional(world.now + 5s) : std::nullopt)));
    world.served.clear();
  }
}

BOOST_AUTO_TEST_CASE(life_that_was_lost_stays_lost_and_a_new_one_is_welcome) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.link_down("b", kPeer.incarnation, kCut);
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 60s);
  world.take();
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == (Lines{"disconnect b", "peer_lost: this life of b was lost or removed before"}),
             per_element);
  world.router.link_up(world.now, {"b", {2, 3}, "test://b"});
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  world.router.link_up(world.now, {"b", {2, 4}, "test://b"});
  BOOST_TEST(world.take() == Lines{"peer_lost: b was made again"}, per_element);
}

BOOST_AUTO_TEST_CASE(
    calls_made_after_a_name_got_another_address_wait_for_the_life_there_also_if_the_former_ends_first) {
  const Peer next{"b", {2, 3}, "test://b2"};
  World world;
  world.router.link_up(world.now, kPeer);
  world.call("b", 60s);
  world.take();
  world.router.connect(world.now, "b", "test://b2");
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"connect test://b2"}, per_element);
  world.router.link_down("b", kPeer.incarnation, kCut);
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"peer_lost: b is gone: connection closed"}, per_element);
  world.router.link_up(world.now, next);
  BOOST_TEST(world.take() == (Lines{"send b", "send b"}), per_element);

  world.router.connect(world.now, "b", "test://b3");
  world.call("b", 60s);
  world.router.link_up(world.now, {"b", {2, 4}, "test://b3"});  // before the end of the former
  BOOST_TEST(world.take() ==
                 (Lines{"connect test://b3", "peer_lost: b was made again", "peer_lost: b was made again", "send b"}),
             per_element);
}

BOOST_AUTO_TEST_CASE(calls_go_to_the_life_that_is_up_if_no_other_is_found_where_its_name_was_sought) {
  const Error refused{.code = ErrorCode::peer_unreachable, .message = "nobody there"};
  World world;
  world.router.link_up(world.now, kPeer);
  const auto sought = [&world] {
    world.router.connect(world.now, "b", "test://b2");
    world.router.connect(world.now, "b", "test://b2");  // sought already
    world.call("b", 60s);
    BOOST_TEST(world.take() == Lines{"connect test://b2"}, per_element);
  };
  sought();
  world.router.link_up(world.now, kPeer);  // another form of its address
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  sought();
  world.router.connect_failed(world.now, "test://b2", refused);
  BOOST_TEST(
      world.take() == (Lines{"warn b cannot be reached: nobody there; the b at test://b is called instead", "send b"}),
      per_element);
  sought();
  world.now += 20s;
  BOOST_REQUIRE(world.router.next_due() <= world.now);
  world.router.tick(world.now);
  const Lines late = world.take();
  BOOST_TEST(late.front() == "warn b did not come up at test://b2; the b at test://b is called instead");
  BOOST_TEST(std::ranges::count(late, "send b") >= 1);
  sought();
  world.router.connect(world.now, "b", "test://b");  // back
  BOOST_TEST(world.take() == Lines{"connect test://b"}, per_element);
  world.router.link_up(world.now, kPeer);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  sought();
  world.router.remove("b");
  const Lines removed = world.take();
  BOOST_TEST(removed.front() == "disconnect b");
  BOOST_TEST(removed.back() == "stop connecting test://b2");
  BOOST_TEST(std::ranges::count(removed, "peer_lost: b was removed by this port") == 5);
}

BOOST_AUTO_TEST_CASE(removed_name_is_free_for_a_new_life_and_the_old_one_stays_out) {
  World world;
  world.router.link_up(world.now, kPeer);
  world.router.remove("b");
  world.take();
  world.router.link_up(world.now, kPeer);
  world.call("b", 60s);
  BOOST_TEST(world.take() == (Lines{"disconnect b", "peer_lost: b was removed by this port"}), per_element);
  world.router.link_up(world.now, {"b", {2, 3}, "test://b"});  // b connects by itself
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
  world.router.link_down("b", {2, 3}, kCut);
  world.take();
  world.router.link_up(world.now, kPeer);  // the life before the last
  BOOST_TEST(world.take() == Lines{"disconnect b"}, per_element);
}

BOOST_AUTO_TEST_CASE(name_removed_while_it_is_connected_to_is_free_once_the_attempt_was_given_up) {
  const Error given_up{.code = ErrorCode::cancelled, .message = "given up by this node"};
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.router.remove("b");
  BOOST_TEST(world.take() == (Lines{"connect test://b", "stop connecting test://b"}), per_element);
  world.router.connect_failed(world.now, "test://b", given_up);
  world.router.link_up(world.now, kPeer);
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);

  world.router.connect(world.now, "c", "test://c");
  world.router.remove("c");
  world.router.connect(world.now, "c", "test://c");
  world.take();
  world.router.connect_failed(world.now, "test://c", given_up);  // an earlier attempt
  world.router.link_up(world.now, {"c", {3, 3}, "test://c"});
  world.call("c", 60s);
  BOOST_TEST(world.take() == Lines{"send c"}, per_element);
}

BOOST_AUTO_TEST_CASE(attempt_that_somebody_else_waits_for_is_not_given_up) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.router.connect(world.now, "c", "test://b");
  world.take();
  world.router.remove("c");
  BOOST_TEST(world.take().empty());
  world.router.link_up(world.now, kPeer);
  world.call("b", 60s);
  BOOST_TEST(world.take() == Lines{"send b"}, per_element);
}

BOOST_AUTO_TEST_CASE(peer_that_an_attempt_reaches_after_its_removal_stays_out_until_it_is_connected_to_again) {
  World world;
  world.router.connect(world.now, "b", "test://b");
  world.call("b", 60s);
  world.take();
  world.router.remove("b");
  BOOST_TEST(world.take() == (Lines{"peer_lost: b was removed by this port", "stop connecting test://b"}), per_element);
  world.router.link_up(world.now, kPeer);  // this attempt was faster
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
  world.router.connect(world.now, "c", "test://b");  // b is up: the link would report nothing
  world.call("c", 60s);
  BOOST_TEST(world.take() == Lines{why}, per_element);
}

BOOST_AUTO_TEST_CASE(peer_that_listens_in_another_way_is_refused) {
  World world;
  world.router.connect(world.now, "b", "ipc://b");
  world.call("b", 60s);
  world.take();
  world.router.link_up(world.now, {"b", {2, 2}, "ipc://b"});
  BOOST_TEST(
      world.take() == (Lines{"disconnect b",
                             "peer_lost: b listens at ipc://b, and this port at test://a: both must be of one kind"}),
      per_element);
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
  world.router.frames(world.now, "c", {3, 3}, {frame_of("noise")});  // no session message: ignored
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
  const Lines lines = world.take();  // the first grant's share of the first call; the others wait
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
  for (const Session::Packet& ack : peer.tick(world.now + 1h))
    world.router.frames(world.now, "b", kPeer.incarnation, ack.frames);
  BOOST_TEST(world.router.flushed());
  world.call("b", 60s);
  BOOST_TEST(world.take() == (Lines{"send b", "stopped: the port has stopped"}), per_element);
}

/// As a port does, but tells ends at once. Allocates nothing for that.
struct Teller : private port::Router::Callbacks {
  void connect(const std::string&) override {}
  void stop_connecting(const std::string&) override {}
  void disconnect(const NodeName&, const Farewell&) override {}
  void transmit(const NodeName&, LinkLane, Frames) override {}
  void serve(port::Request) override {}
  void end(std::shared_ptr<port::Ending> ending, Port::Outcome outcome, port::Body body,
           std::string why) noexcept override {
    ending->end(outcome, std::move(body), std::move(why));
  }
  void warn(const std::string&) override {}

  void call(TimePoint now, int& told) {
    auto ending = std::make_shared<port::Ending>();
    ending->expect([&told](const Port::Result&) { ++told; });
    router.call(now, {"b", 1, {}, now, now + 1h, std::move(ending)});
  }

  port::Router router{kSelf, 10s, *this};
};

BOOST_AUTO_TEST_CASE(every_call_of_a_lost_peer_is_told_once_whichever_allocation_is_refused) {
  const TimePoint now{1000s};
  for (std::size_t n = 1;; ++n) {
    std::array<int, 3> told{};
    Teller port;
    port.router.link_up(now, kPeer);
    for (int& one : told) port.call(now, one);
    bool refused = false;
    {
      const testing::RefusedAllocation allocation(n);
      try {
        port.router.link_down("b", kPeer.incarnation, kCut);
      } catch (const std::bad_alloc&) {
        port.router.end_calls();
      }
      refused = allocation.happened();
    }
    BOOST_TEST(told == (std::array<int, 3>{1, 1, 1}), per_element);
    if (!refused) {
      BOOST_TEST(n > 3);
      return;
    }
  }
}

BOOST_AUTO_TEST_CASE(calls_are_ended_as_stopped_whichever_allocation_is_refused) {
  const TimePoint now{1000s};
  for (std::size_t n = 1;; ++n) {
    std::array<int, 3> told{};
    Teller port;
    port.router.link_up(now, kPeer);
    for (int& one : told) port.call(now, one);
    bool refused = false;
    {
      const testing::RefusedAllocation allocation(n);
      port.router.end_calls();
      refused = allocation.happened();
    }
    BOOST_TEST(told == (std::array<int, 3>{1, 1, 1}), per_element);
    if (!refused) {
      BOOST_TEST(n > 3);
      return;
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
