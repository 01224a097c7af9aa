#include "actors/sessions/traffic.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(traffic)

using boost::unit_test::label;

Frames frames_of(std::size_t first, std::size_t second) {
  return {make_frame(std::vector<std::byte>(first)), make_frame(std::vector<std::byte>(second))};
}

BOOST_AUTO_TEST_CASE(bytes_and_calls_are_counted_by_peer_and_direction) {
  Traffic traffic;
  traffic.began("a");
  traffic.began("b");
  traffic.sent("a", frames_of(3, 4));
  traffic.sent("a", frames_of(1, 0));
  traffic.received("a", frames_of(5, 0));
  traffic.called("a");
  traffic.called_by("b");
  traffic.called_by("b");
  traffic.called("nobody");
  const auto counts = traffic.counts().value();
  BOOST_TEST(counts.size() == 2U);
  BOOST_TEST((counts.at("a") == PeerTraffic{1, 0, 8, 5}));
  BOOST_TEST((counts.at("b") == PeerTraffic{0, 2, 0, 0}));
}

BOOST_AUTO_TEST_CASE(counts_end_with_the_session_and_begin_anew) {
  Traffic traffic;
  traffic.began("a");
  traffic.called("a");
  traffic.ended("a");
  BOOST_TEST(traffic.counts().value().empty());
  traffic.began("a");
  BOOST_TEST((traffic.counts().value().at("a") == PeerTraffic{}));
}

BOOST_AUTO_TEST_CASE(nothing_is_counted_or_reported_while_it_is_off, *label("S-10")) {
  Traffic traffic;
  traffic.began("a");
  traffic.called("a");
  traffic.measure(false);
  traffic.called("a");
  BOOST_TEST(!traffic.counts());
  traffic.measure(true);
  BOOST_TEST((traffic.counts().value().at("a") == PeerTraffic{}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
