#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "actors/sessions/session.h"
#include "tests/support/counting_new.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_receive)

using namespace std::chrono_literals;
using boost::unit_test::label;

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

/// A peer that claims a message which no machine has memory for, and sends whatever packets it likes.
struct Liar {
  static constexpr std::uint64_t kClaim = std::uint64_t{1} << 61;

  /// Returns the error; "": none.
  std::string send(Part part, const Frames& frames) {
    header.part = part;
    header.charge = part == Part::first || part == Part::whole ? Charge::call : Charge::none;
    ++header.number;
    Frames packet{encode(header)};
    packet.insert(packet.end(), frames.begin(), frames.end());
    const auto received = victim.receive(kNow, std::move(packet));
    if (!received) return received.error().message;
    delivered += received.value().delivered.size();
    return {};
  }
  std::string claim() {
    std::string sizes(2 * sizeof kClaim, '\0');
    sizes[0] = 1;
    std::memcpy(sizes.data() + sizeof kClaim, &kClaim, sizeof kClaim);
    return send(Part::first, {message_of(sizes)[0], message_of("h")[0]});
  }

  Session victim{kThere,
                 kHere,
                 {.assembly = {.bytes_max = kClaim},
                  .grants = {.bytes = {0, 300, 300, 300, 300}},
                  .first_grants = {.bytes = {0, 100, 100, 100, 100}}}};
  SessionHeader header{.lane = SessionLane::calls, .from = kHere, .to = kThere};
  std::size_t delivered = 0;
};

BOOST_AUTO_TEST_CASE(claim_without_memory_that_is_taken_back_leaves_no_grant_to_others,
                     *label("attack") * label("fault-F14")) {
  Liar liar;
  BOOST_TEST(liar.claim() == "");
  BOOST_TEST(liar.send(Part::dropped, {}) == "");
  std::string refused;
  for (int i = 0; i < 20 && refused.empty(); ++i) refused = liar.send(Part::whole, message_of(std::string(290, 'x')));
  BOOST_TEST(liar.delivered == 2U);  // one that is not cut may exceed the grant, once
  BOOST_TEST(refused == fmt::format("more than the {} bytes granted", Liar::kClaim + 300));
}

BOOST_AUTO_TEST_CASE(claim_without_memory_is_kept_to_the_byte, *label("attack") * label("fault-F14")) {
  Liar early;
  BOOST_TEST(early.claim() == "");
  BOOST_TEST(early.send(Part::last, message_of("x")) == "the last piece of a message that is not complete");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_claimed_and_taken_back_do_not_make_the_count_overflow, *label("attack")) {
  Liar liar;
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(liar.claim() == "");
    BOOST_TEST(liar.send(Part::dropped, {}) == "");
  }
  BOOST_TEST(liar.claim() == "more bytes than a lane counts");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
