#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    header.bytes_used = lane == SessionLane::express ? 0 : 1;  // "m"
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

// The first answer stays at the front of its lane: the peer grants no bytes.
BOOST_AUTO_TEST_CASE(answers_that_are_taken_back_are_freed_while_the_peer_grants_nothing) {
  Session here(kHere, kThere, {.first_grants = {.calls = 1, .bytes = {}}});
  const Packing small_pieces{.whole_bytes_max = 100, .piece_bytes_max = 100};
  const testing::PeakMemory memory;
  for (std::uint64_t i = 1; i <= 20'000; ++i) {
    Frames answer = message_of("m");
    answer.push_back(message_of(std::string(300, 'a'))[0]);
    static_cast<void>(
        here.send(kNow, pack(answer, small_pieces), {.of = Posting::Class::answer, .request = RequestId{i}}).value());
    if (i > 1) BOOST_TEST_REQUIRE(here.take_back_answer(kNow, RequestId{i}).in_time);
  }
  BOOST_TEST(memory.bytes() < 200'000U);
  BOOST_TEST(here.take_back_answer(kNow, RequestId{1}).in_time);
}

BOOST_AUTO_TEST_CASE(answer_that_arrives_ends_no_call_that_has_the_number_of_its_request) {
  Session here(kHere, kThere, {.first_grants = {.calls = 1}});
  static_cast<void>(sent(here, {.of = Posting::Class::call, .request = RequestId{1}}));
  static_cast<void>(
      here.send(kNow, pack(message_of("m")), {.of = Posting::Class::call, .request = RequestId{2}}).value());
  const Frames answer = sent(here, {.of = Posting::Class::answer, .request = RequestId{2}});
  BOOST_TEST(decode_session_header(answer[0].bytes).value().number == 2U);
  SessionHeader both{.kind = SessionKind::ack, .from = kThere, .to = kHere, .ack = 2};
  BOOST_TEST(here.receive(kNow, {encode(both)}).ok());
  BOOST_TEST(here.answers().empty());
  BOOST_TEST(!here.has(RequestId{1}));
  BOOST_TEST(here.has(RequestId{2}));
}

/// What the link makes of a leased frame.
enum class Came : std::uint8_t { mapped, missing, travelled, travelled_when_sent_again };

/// Calls of one key to a session that grants 300 bytes, over a link that leases frames.
struct LeasedCalls {
  void send(const std::string& name, std::size_t bytes, FrameMemory memory) {
    Frames message{message_of(name)[0], message_of("body")[0], message_of(std::string(bytes, 'x'))[0]};
    message.back().memory = memory;
    put(here.send(kNow, pack(std::move(message), {.whole_bytes_max = 100, .piece_bytes_max = 50}),
                  {.of = Posting::Class::call, .request = RequestId{++request}, .order_key = "value"})
            .value());
  }
  void put(Session::Packets packets) {
    for (Session::Packet& packet : packets) on_link.push_back(std::move(packet.frames));
  }
  static bool is_leased(const Frame& frame) { return frame.memory == FrameMemory::leased; }

  void arrive(Frames packet, Came came) {
    for (Frame& frame : packet) {
      if (!is_leased(frame)) continue;
      if (came == Came::missing) frame = {.bytes = {}, .owner = nullptr, .memory = FrameMemory::missing};
      else frame.memory = came == Came::mapped ? FrameMemory::foreign : FrameMemory::own;
    }
    auto received = there.receive(kNow, std::move(packet));
    if (!received) {
      arrived.push_back(received.error().message);
      return;
    }
    for (Session::Delivered& message : received.value().delivered) take(message.frames.front(), message.bytes);
    for (const Frame& header : received.value().no_memory_for) arrived.push_back("no memory for " + text(header));
    answer(std::move(received.value().on_link));
  }
  void take(const Frame& name, std::uint64_t bytes) {
    arrived.push_back(text(name));
    waiting.push_back(std::make_unique<CallCredit>(there.account(), Charge::call, bytes));
  }
  void answer(Session::Packets packets) {
    for (Session::Packet& packet : packets) put(here.receive(kNow, std::move(packet.frames)).value().on_link);
  }
  static std::string text(const Frame& of) { return {reinterpret_cast<const char*>(of.bytes.data()), of.bytes.size()}; }

  /// Returns what arrives until the sender waits.
  std::vector<std::string> all_that_arrives(Came came) {
    std::vector<Frames> lost;
    for (int waits = 0; waits < 2; ++waits) {
      for (; !on_link.empty(); on_link.pop_front()) {
        const bool is_lost =
            waits == 0 && came == Came::travelled_when_sent_again && std::ranges::any_of(on_link.front(), is_leased);
        if (is_lost) lost.push_back(on_link.front());
        else arrive(on_link.front(), came);
      }
      answer(there.tick(kNow + 1h));
      put(here.tick(kNow + 1h));
    }
    for (const Frames& late : lost) arrive(late, Came::mapped);
    return std::exchange(arrived, {});
  }
  void begin_all() {
    waiting.clear();
    answer(there.grant().on_link);
  }

  const SessionOptions options{.out = {.resend_bytes_max = 1 << 20},
                               .grants = {.bytes = {0, 300, 300, 300, 300}},
                               .first_grants = {.bytes = {0, 300, 300, 300, 300}}};
  Session here{kHere, kThere, options};
  Session there{kThere, kHere, options};
  std::deque<Frames> on_link;
  std::vector<std::string> arrived;
  std::vector<std::unique_ptr<CallCredit>> waiting;  ///< calls that have not begun
  std::uint64_t request = 0;
};

BOOST_AUTO_TEST_CASE(leased_frames_count_alike_on_both_sides_whether_they_travel_or_not) {
  using Names = std::vector<std::string>;
  for (const Came came : {Came::mapped, Came::missing, Came::travelled, Came::travelled_when_sent_again}) {
    LeasedCalls calls;
    for (int round = 0; round < 10; ++round) {
      BOOST_TEST_CONTEXT("leased frames " << static_cast<int>(came) << ", round " << round) {
        calls.send("cut", 150, FrameMemory::own);
        calls.send("leased", 250, FrameMemory::leased);
        calls.send("behind", 200, FrameMemory::own);  // 150 + 250 > 300: until the others begin
        const std::string second = came == Came::missing ? "no memory for leased" : "leased";
        BOOST_TEST(calls.all_that_arrives(came) == (Names{"cut", second}), boost::test_tools::per_element());
        calls.begin_all();
        BOOST_TEST(calls.all_that_arrives(came) == Names{"behind"}, boost::test_tools::per_element());
        calls.begin_all();
      }
    }
  }
}

/// A peer that claims a message which no machine has memory for, and sends whatever packets it likes.
struct Liar {
  static constexpr std::uint64_t kClaim = std::uint64_t{1} << 61;

  /// Returns the error; "": none.
  std::string send(Part part, const Frames& frames) {
    return send(part, frames, part == Part::whole ? size_of(frames) : 0);
  }
  std::string send(Part part, const Frames& frames, std::uint64_t bytes_used) {
    header.part = part;
    header.bytes_used = bytes_used;
    header.charge = part == Part::first || part == Part::whole ? charge : Charge::none;
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
  Charge charge = Charge::call;
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

BOOST_AUTO_TEST_CASE(a_message_brings_no_more_bytes_than_it_says, *label("attack")) {
  Liar liar;
  liar.header.lane = SessionLane::words;
  liar.charge = Charge::none;
  BOOST_TEST(liar.send(Part::whole, message_of("1234"), 4) == "");
  BOOST_TEST(liar.send(Part::whole, message_of("1234"), 3) == "4 bytes in a message that uses 3 of its grant");
  BOOST_TEST(Liar().send(Part::first, message_of("1234"), 4) == "a packet that uses no grant says how much of it");
  liar.header.lane = SessionLane::express;
  BOOST_TEST(liar.send(Part::whole, message_of("1234"), 4) == "a packet that uses no grant says how much of it");
}

BOOST_AUTO_TEST_CASE(bytes_that_are_said_and_do_not_come_use_the_grant_until_their_call_begins, *label("attack")) {
  Liar liar;
  BOOST_TEST(liar.send(Part::whole, message_of("1"), SessionHeader::kBytesUsedMax) == "");
  BOOST_TEST(liar.send(Part::whole, message_of("1"), 1) == "more than the 300 bytes granted");
}

BOOST_AUTO_TEST_CASE(call_in_a_lane_of_other_messages_is_refused_since_it_would_give_its_bytes_back_to_another_lane,
                     *label("attack")) {
  for (std::size_t lane = 1; lane < kSessionLanes; ++lane) {
    for (const Charge charge : {Charge::call, Charge::nested}) {
      Liar liar;
      liar.header.lane = static_cast<SessionLane>(lane);
      liar.charge = charge;
      const bool is_its_own = charge_in(liar.header.lane) == charge;
      BOOST_TEST(liar.send(Part::whole, message_of("1")) == (is_its_own ? "" : "a call in the lane of others"));
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_in_memory_of_another_process_are_refused_since_they_would_use_no_grant, *label("attack")) {
  for (const FrameMemory memory : {FrameMemory::foreign, FrameMemory::missing}) {
    Liar liar;
    BOOST_TEST(liar.claim() == "");
    Frames piece = message_of(std::string(1000, 'x'));
    piece.front().memory = memory;
    BOOST_TEST(liar.send(Part::middle, piece) == "a piece in memory of another process");
  }
}

BOOST_AUTO_TEST_CASE(riders_in_memory_of_another_process_are_refused_since_they_are_read_more_than_once,
                     *label("attack")) {
  const auto came = [](std::size_t elsewhere, FrameMemory memory, Device device) {
    Session there(kThere, kHere);
    Frames packet{encode({.kind = SessionKind::data, .from = kHere, .to = kThere, .number = 1, .riders = 2})};
    for (int i = 0; i < 7; ++i) packet.push_back(message_of("m").front());  // of the large one 3, of each rider 2
    packet[elsewhere].memory = memory;
    packet[elsewhere].device = device;
    const auto received = there.receive(kNow, std::move(packet));
    return received ? std::to_string(received.value().delivered.size()) : received.error().message;
  };
  BOOST_TEST(came(3, FrameMemory::foreign, Device::cpu()) == "3");  // a tensor of the large one
  BOOST_TEST(came(3, FrameMemory::foreign, Device::cuda(0)) == "3");
  for (std::size_t at = 4; at < 8; ++at) {
    for (const FrameMemory memory : {FrameMemory::foreign, FrameMemory::missing}) {
      for (const Device device : {Device::cpu(), Device::cuda(0)})
        BOOST_TEST(came(at, memory, device) == "messages that ride on a large one, in memory of another process");
    }
  }
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

BOOST_AUTO_TEST_CASE(an_idle_session_has_memory_for_its_lanes_and_no_more) {
  const testing::PeakMemory memory;
  const Session idle(kHere, kThere);
  const std::size_t bytes = memory.bytes();
  BOOST_TEST(bytes < kSessionLanes * 700);
}

BOOST_AUTO_TEST_CASE(a_session_that_was_busy_once_does_not_keep_the_memory_for_it) {
  Session here(kHere, kThere);
  Session there(kThere, kHere);
  std::size_t delivered = 0;
  const auto take = [&](Frames packet) {
    Session::Received received = there.receive(kNow, std::move(packet)).value();
    delivered += received.delivered.size();
    there.reuse(std::move(received));
  };
  take(sent(here));
  std::vector<Frames> burst;
  for (int i = 0; i < 60; ++i) burst.push_back(sent(here));
  const testing::PeakMemory memory;
  for (auto packet = burst.rbegin(); packet != burst.rend(); ++packet) take(Frames(*packet));  // reordered
  const std::size_t kept = memory.live();
  BOOST_TEST(delivered == 61U);
  BOOST_TEST(kept < 2'000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
