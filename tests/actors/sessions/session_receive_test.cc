#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "actors/sessions/session.h"
#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_receive)

using namespace std::chrono_literals;

constexpr Incarnation kHere{.high = 0xA, .low = 1};
constexpr Incarnation kThere{.high = 0xB, .low = 2};
constexpr TimePoint kNow{1h};

Frames message_of(std::string_view body) {
  const auto owner = std::make_shared<std::string>(body);
  return {Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner}};
}

/// Sends one message. Returns its packet.
Frames sent(Session& session, Posting posting = {}) {
  return session.send(kNow, pack(message_of("m")), std::move(posting)).value().at(0).frames;
}

BOOST_AUTO_TEST_CASE(a_message_that_waits_for_others_than_may_be_on_their_way_is_refused,
                     *boost::unit_test::label("attack")) {
  Session here(kHere, kThere);
  const Frames packet = sent(here);
  SessionHeader header = decode_session_header(packet[0].bytes).value();
  const auto outcome = [&](SessionLane lane, std::uint64_t after) {
    Session there(kThere, kHere);
    header.lane = lane;
    header.after = after;
    const auto received = there.receive(kNow, {encode(header), packet[1]});
    return received ? "ok" : std::string(name_of(received.error().code));
  };
  const std::uint64_t window = InLaneOptions{}.window_messages;
  BOOST_TEST(outcome(SessionLane::express, 0) == "ok");
  BOOST_TEST(outcome(SessionLane::express, 1) == "protocol_violation");
  const auto large = static_cast<SessionLane>(1);
  BOOST_TEST(outcome(large, window) == "ok");
  BOOST_TEST(outcome(large, window + 1) == "protocol_violation");
}

BOOST_AUTO_TEST_CASE(calls_that_are_taken_back_are_freed_while_the_peer_grants_nothing) {
  Session here(kHere, kThere, {.first_grants = {.calls = 1}});
  const testing::PeakMemory memory;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    static_cast<void>(
        here.send(kNow, pack(message_of("m")), {.of = Posting::Class::call, .request = RequestId{i}}).value());
    if (i > 2) BOOST_TEST_REQUIRE(here.take_back(kNow, RequestId{i}).in_time);
  }
  BOOST_TEST(memory.bytes() < 100'000U);
  BOOST_TEST(here.take_back(kNow, RequestId{2}).in_time);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
