// How long peers of a node may be silent, by the node's network and settings.
#include "node/joining/silence.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "actors/sessions/failure_detector.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using detail::silence_of;

NodeOptions in(Network network) {
  NodeOptions options;
  options.network = network;
  return options;
}

std::string refusal(const NodeOptions& options) {
  try {
    (void)silence_of(options);
  } catch (const RemoteError& error) {
    return error.error().message;
  }
  return "none";
}

BOOST_AUTO_TEST_SUITE(silence)

BOOST_AUTO_TEST_CASE(peers_on_this_machine_are_unreachable_after_300_ms_and_others_after_a_second) {
  for (const Network near : {Network::automatic, Network::loopback}) {
    BOOST_CHECK(silence_of(in(near)).heartbeat_min == 100ms);
    BOOST_CHECK(silence_of(in(near)).suspicion == 200ms);
    BOOST_CHECK(silence_of(in(near)).lease == 10s);
  }
  NodeOptions keyed = in(Network::automatic);
  keyed.keys = make_run_keys(std::vector<NodeName>{"a", "b"}).front();
  for (const NodeOptions& far : {in(Network::keys), in(Network::trusted), keyed}) {
    BOOST_CHECK(silence_of(far).heartbeat_min == 200ms);
    BOOST_CHECK(silence_of(far).suspicion == 800ms);
    BOOST_CHECK(silence_of(far).lease == 10s);
    BOOST_CHECK(silence_of(far).heartbeat_max == 1s);
  }
}

BOOST_AUTO_TEST_CASE(what_is_set_counts_in_every_network) {
  for (const Network network : {Network::automatic, Network::loopback, Network::keys, Network::trusted}) {
    NodeOptions options = in(network);
    options.liveness = {.heartbeat = 2s, .suspicion = 50ms, .lease = 3s};
    BOOST_CHECK(silence_of(options).heartbeat_min == 2s);
    BOOST_CHECK(silence_of(options).heartbeat_max == 2s);
    BOOST_CHECK(silence_of(options).suspicion == 50ms);
    BOOST_CHECK(silence_of(options).lease == 3s);
    options.liveness = {.heartbeat = 100ms, .suspicion = 200ms};
    BOOST_CHECK(silence_of(options).heartbeat_min == 100ms);
    BOOST_CHECK(silence_of(options).suspicion == 200ms);
  }
}

BOOST_AUTO_TEST_CASE(time_out_of_its_range_is_refused) {
  NodeOptions options;
  options.liveness.heartbeat = 9ms;
  BOOST_TEST(refusal(options) == "liveness.heartbeat of 9 ms is not in 10 to 10000 ms");
  options.liveness = {.suspicion = -1ms};
  BOOST_TEST(refusal(options) == "liveness.suspicion of -1 ms is not in 10 to 60000 ms");
  options.liveness = {.lease = 0ms};
  BOOST_TEST(refusal(options) == "liveness.lease of 0 ms is not in 1000 to 86400000 ms");
}

// A node of a file that sets times, and one that has those of its network.
BOOST_AUTO_TEST_CASE(nodes_of_different_times_keep_each_other_and_are_as_impatient_as_one_of_them) {
  NodeOptions own = in(Network::keys);
  own.liveness = {.heartbeat = 100ms, .suspicion = 200ms};
  struct End {
    NodeName name;
    FailureDetector detector;
    TimePoint next{};
    std::vector<Reach> changes = {};
  };
  End ends[] = {{"patient", FailureDetector(silence_of(in(Network::keys)))},
                {"impatient", FailureDetector(silence_of(own))}};
  const Incarnation life{1, 1};
  for (std::size_t i : {0, 1}) ends[i].detector.watch(ends[1 - i].name, life, 10s, TimePoint{});
  const auto run = [&](Duration from, Duration to, bool is_cut) {
    for (Duration now = from; now < to; now += 10ms) {
      const TimePoint at{now};
      for (std::size_t i : {0, 1}) {
        if (ends[i].next > at) continue;
        const auto verdicts = ends[i].detector.tick(at);
        for (const auto& event : verdicts.events) ends[i].changes.push_back(event.change);
        ends[i].next = verdicts.next.value();
        for (const auto& beat : verdicts.heartbeats) {
          if (is_cut && i == 0) continue;  // one way: what the patient one says is lost
          const auto event = ends[1 - i].detector.heard(ends[i].name, life, beat.said, at);
          if (event) ends[1 - i].changes.push_back(event->change);
        }
      }
    }
  };
  run(0s, 20s, false);
  for (const End& end : ends) BOOST_TEST(end.changes.empty());
  run(20s, 20500ms, true);  // 200 ms promised, 200 ms of patience, and the next heartbeat of the impatient one
  for (const End& end : ends) BOOST_CHECK(end.changes == std::vector{Reach::unreachable});
  run(20500ms, 21s, false);
  for (const End& end : ends) BOOST_CHECK((end.changes == std::vector{Reach::unreachable, Reach::reachable}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
