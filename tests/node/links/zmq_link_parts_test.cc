#include "node/links/zmq_link_parts.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(zmq_link_parts)

using namespace std::chrono_literals;

ZmqLinkOptions options_of(std::size_t peers) {
  ZmqLinkOptions with;
  with.connect_patience = 10s;
  with.handshake_timeout = 2s;
  with.silence.peers_min = peers;
  return with;
}

BOOST_AUTO_TEST_CASE(peer_is_given_the_time_to_connect_back_after_all_others_of_the_world) {
  BOOST_TEST((ZmqLinkParts(options_of(0)).meet_patience() == 10s));
  BOOST_TEST((ZmqLinkParts(options_of(AttemptLimit::kPlaces - 1)).meet_patience() == 10s));
  BOOST_TEST((ZmqLinkParts(options_of(AttemptLimit::kPlaces)).meet_patience() == 12s));
  BOOST_TEST((ZmqLinkParts(options_of(4 * AttemptLimit::kPlaces)).meet_patience() == 18s));
}

BOOST_AUTO_TEST_CASE(handshakes_of_a_large_world_may_take_longer) {
  BOOST_TEST((ZmqLinkParts(options_of(0)).handshake_patience() == 2s));
  BOOST_TEST((ZmqLinkParts(options_of(31)).handshake_patience() == 2s));
  BOOST_TEST((ZmqLinkParts(options_of(127)).handshake_patience() == 8s));
  BOOST_TEST((ZmqLinkParts(options_of(127)).limits().handshake_timeout == 8s));
}

BOOST_AUTO_TEST_CASE(world_of_unknown_size_is_at_most_that_of_the_key_ring) {
  std::vector<NodeName> names;
  for (std::size_t i = 0; i < 2 * AttemptLimit::kPlaces; ++i) names.push_back("n" + std::to_string(i));
  ZmqLinkOptions with = options_of(0);
  with.keys = make_run_keys(names).front();
  BOOST_TEST((ZmqLinkParts(std::move(with)).meet_patience() == 14s));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
