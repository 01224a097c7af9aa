#include "node/sim/sim_link.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/recording_sink.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(sim_link)

namespace {

using namespace std::chrono_literals;
using sim::LinkFaults;
using sim::Schedule;
using sim::SimLink;
using sim::SimNetwork;
using testing::RecordingSink;

/// Two connected links.
struct Pair {
  explicit Pair(std::uint64_t seed, LinkFaults faults = {})
      : schedule(std::make_shared<Schedule>(seed, 0ns)), network(std::make_shared<SimNetwork>(schedule, faults)) {
    a.start(sink_a);
    b.start(sink_b);
    a.connect("sim://b");
    pass(1s);
  }
  ~Pair() { schedule->end(); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  void pass(Duration time) {
    const TimePoint limit = schedule->now() + time;
    while (schedule->step(limit)) {
    }
  }

  /// Sends "0", "1", ... from a to b.
  void send(int count) {
    for (int i = 0; i < count; ++i) a.send("b", LinkLane::express, {testing::frame_of(std::to_string(i))});
  }

  [[nodiscard]] std::vector<int> arrived() const {
    std::vector<int> numbers;
    for (const auto& message : sink_b.messages())
      numbers.push_back(std::stoi(testing::text_of(message.frames.front())));
    return numbers;
  }

  std::shared_ptr<Schedule> schedule;
  std::shared_ptr<SimNetwork> network;
  RecordingSink sink_a;
  RecordingSink sink_b;
  SimLink a{network, "a", Incarnation{1, 1}};
  SimLink b{network, "b", Incarnation{2, 2}};
};

}  // namespace

BOOST_AUTO_TEST_CASE(both_ends_come_up_at_once_and_know_each_other) {
  const Pair pair(1);
  BOOST_TEST_REQUIRE(pair.sink_a.ups().size() == 1U);
  BOOST_TEST_REQUIRE(pair.sink_b.ups().size() == 1U);
  BOOST_TEST((pair.sink_a.ups().front() == Peer{.name = "b", .incarnation = {2, 2}, .address = "sim://b"}));
  BOOST_TEST((pair.sink_b.ups().front() == Peer{.name = "a", .incarnation = {1, 1}, .address = "sim://a"}));
}

BOOST_AUTO_TEST_CASE(without_faults_messages_arrive_once_and_in_order) {
  Pair pair(2);
  pair.send(200);
  pair.pass(10s);
  const std::vector<int> arrived = pair.arrived();
  BOOST_TEST_REQUIRE(arrived.size() == 200U);
  for (int i = 0; i < 200; ++i) BOOST_TEST(arrived[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(faults_happen_as_often_as_asked_for) {
  Pair pair(3, {.drop = 0.2, .duplicate = 0.1, .reorder = 0.3});
  pair.send(2000);
  pair.pass(10s);
  const std::vector<int> arrived = pair.arrived();
  // 2000 * 0.8 * 1.1 = 1760, give or take five standard deviations of about 22
  BOOST_TEST(arrived.size() > 1650U);
  BOOST_TEST(arrived.size() < 1870U);
  BOOST_TEST(!std::is_sorted(arrived.begin(), arrived.end()));
}

BOOST_AUTO_TEST_CASE(a_connection_that_is_closed_ends_after_all_that_was_sent) {
  Pair pair(4, {.reorder = 0.5});
  pair.send(100);
  pair.a.stop();
  pair.pass(10s);
  BOOST_TEST(pair.arrived().size() == 100U);
  BOOST_TEST(pair.sink_b.order().back() == "down a");
  BOOST_TEST_REQUIRE(pair.sink_b.downs().size() == 1U);
  BOOST_TEST(pair.sink_b.downs().front().why.text() == "a: peer_down: connection closed");
  BOOST_TEST(pair.sink_a.downs().empty());
}

BOOST_AUTO_TEST_CASE(a_death_loses_what_is_late) {
  Pair pair(5);
  pair.send(100);
  pair.a.kill(sim::Death::closed);
  pair.pass(10s);
  BOOST_TEST(pair.arrived().size() < 100U);
  BOOST_TEST(pair.sink_b.order().back() == "down a");
}

BOOST_AUTO_TEST_CASE(a_silent_death_is_told_to_nobody) {
  Pair pair(6);
  pair.send(10);
  pair.a.kill(sim::Death::silent);
  pair.send(10);
  pair.b.send("a", LinkLane::express, {testing::frame_of("anybody?")});
  pair.pass(10s);
  BOOST_TEST(pair.arrived().size() == 10U);  // packets already in flight
  BOOST_TEST(pair.sink_b.downs().empty());
  BOOST_TEST(pair.sink_a.messages().empty());
}

BOOST_AUTO_TEST_CASE(disconnecting_is_told_to_both_ends_and_the_pair_may_connect_again) {
  Pair pair(7);
  pair.b.disconnect("a", {});
  pair.pass(1s);
  BOOST_TEST_REQUIRE(pair.sink_a.downs().size() == 1U);
  BOOST_TEST_REQUIRE(pair.sink_b.downs().size() == 1U);
  BOOST_TEST((pair.sink_a.downs().front().why.code == ErrorCode::peer_down));
  BOOST_TEST((pair.sink_b.downs().front().why.code == ErrorCode::cancelled));
  pair.send(3);
  pair.pass(1s);
  BOOST_TEST(pair.arrived().empty());
  pair.b.connect("sim://a");
  pair.pass(1s);
  BOOST_TEST(pair.sink_a.ups().size() == 2U);
  pair.send(3);
  pair.pass(1s);
  BOOST_TEST(pair.arrived().size() == 3U);
}

BOOST_AUTO_TEST_CASE(next_life_is_heard_whichever_comes_first_it_or_the_end_of_the_former) {
  int ends_last = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pair pair(seed);
    pair.a.stop();
    RecordingSink sink;
    SimLink next(pair.network, "a", Incarnation{3, 3});
    next.start(sink);
    next.connect("sim://b");
    pair.pass(30s);
    if (pair.sink_b.order().back() == "down a") ++ends_last;
    BOOST_TEST(sink.ups().size() == 1U);
    BOOST_TEST(sink.reaches().empty());
    BOOST_TEST(pair.sink_b.reaches().empty());
  }
  BOOST_TEST(ends_last > 0);
  BOOST_TEST(ends_last < 20);
}

BOOST_AUTO_TEST_CASE(next_life_that_dies_silently_is_missed_whenever_the_end_of_the_former_comes) {
  int ends_last = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pair pair(seed);
    pair.a.stop();
    RecordingSink sink;
    SimLink next(pair.network, "a", Incarnation{3, 3});
    next.start(sink);
    next.connect("sim://b");
    while (sink.ups().empty()) BOOST_TEST_REQUIRE(pair.schedule->step(pair.schedule->now() + 1s));
    next.kill(sim::Death::silent);
    if (pair.sink_b.downs().empty()) ++ends_last;
    pair.pass(30s);
    BOOST_TEST(pair.sink_b.downs().size() == 1U);
    BOOST_TEST_REQUIRE(!pair.sink_b.reaches().empty());
    BOOST_TEST((pair.sink_b.reaches().back().change == Reach::down));
  }
  BOOST_TEST(ends_last > 0);
  BOOST_TEST(ends_last < 20);
}

BOOST_AUTO_TEST_CASE(connecting_to_nobody_fails_with_the_address) {
  Pair pair(8);
  pair.a.connect("sim://nobody");
  pair.pass(1s);
  BOOST_TEST_REQUIRE(pair.sink_a.failures().size() == 1U);
  BOOST_TEST(pair.sink_a.failures().front().why.message == "no node listens at sim://nobody");
  BOOST_TEST((pair.sink_a.failures().front().why.code == ErrorCode::peer_unreachable));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
