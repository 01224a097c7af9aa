#include "samples/federated/bandwidth.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "messages/frame.h"

BOOST_AUTO_TEST_SUITE(bandwidth)

namespace {

using namespace std::chrono_literals;
using troupe::sim::Fate;

/// A line of 1000 bytes per second, and its time.
struct Line {
  std::chrono::steady_clock::time_point now{};
  troupe::sim::DecideFate fate = samples::line_of(1'000, [this] { return now; });

  Fate send(const std::string& to, std::size_t bytes) {
    return fate(to, {troupe::make_frame(std::vector<std::byte>(bytes))});
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_message_takes_the_time_of_its_bytes_after_those_sent_before) {
  Line line;
  BOOST_TEST((line.send("a", 500) == Fate(500ms)));
  BOOST_TEST((line.send("a", 250) == Fate(750ms)));
  line.now += 600ms;  // the first has arrived, the second has 150 ms left
  BOOST_TEST((line.send("a", 100) == Fate(250ms)));
}

BOOST_AUTO_TEST_CASE(a_line_saves_no_time_while_it_is_idle) {
  Line line;
  BOOST_TEST((line.send("a", 100) == Fate(100ms)));
  line.now += 1h;
  BOOST_TEST((line.send("a", 100) == Fate(100ms)));
}

BOOST_AUTO_TEST_CASE(each_peer_has_a_line_of_its_own) {
  Line line;
  BOOST_TEST((line.send("a", 900) == Fate(900ms)));
  BOOST_TEST((line.send("b", 100) == Fate(100ms)));
}

BOOST_AUTO_TEST_SUITE_END()
