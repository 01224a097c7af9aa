// Lanes and grants of a session: which messages overtake or wait for which, and what is held meanwhile.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/sessions/session.h"
#include "tests/actors/sessions/alice_and_bob.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_lanes)

using namespace std::chrono_literals;
using boost::unit_test::label;
using testing::at;
using testing::frame;
using testing::kAlice;
using testing::kBob;
using testing::kSmallPieces;
using testing::name_of_message;
using testing::parcel;
using testing::text;

/// Grants so small that every case below exhausts them.
SessionOptions tight() {
  SessionOptions options;
  options.grants = {.calls = 2, .nested = 1, .bytes = {0, 300, 300, 300, 300}};
  options.first_grants = {.calls = 1, .nested = 1, .bytes = {0, 100, 100, 100, 100}};
  return options;
}

Posting call(std::uint64_t request, std::string key = {}) {
  return {.of = Posting::Class::call, .request = RequestId{request}, .order_key = std::move(key)};
}

/// Two sessions and the packets between them, in the order of each lane.
struct Talk {
  explicit Talk(SessionOptions options = tight())
      : alice(kAlice, kBob, options, [this] { ++told_alice; }), bob(kBob, kAlice, options, [this] { ++told_bob; }) {}

  void send(const std::string& name, std::size_t bytes, Posting posting = {}) {
    put(alice.send(now, parcel(name, bytes), std::move(posting)).value(), to_bob);
  }

  static void put(Session::Packets packets, std::deque<Session::Packet>& wire) {
    for (Session::Packet& packet : packets) wire.push_back(std::move(packet));
  }

  void arrive_at_bob(Session::Packet packet) {
    auto received = bob.receive(now, std::move(packet.frames));
    BOOST_REQUIRE(received.ok());
    for (Session::Delivered& message : received.value().delivered) {
      arrived.push_back(name_of_message(message.frames));
      if (message.charge != Charge::none) {
        credits[arrived.back()] = std::make_unique<CallCredit>(bob.account(), message.charge, message.bytes);
      }
    }
    for (const Frame& header : received.value().no_memory_for) no_memory_for.push_back(text(header));
    put(std::move(received.value().on_link), to_alice);
  }

  /// Delivers packets until none is left. Reports the calls that have begun.
  void exchange() {
    while (!to_bob.empty() || !to_alice.empty() || told_bob > 0) {
      if (told_bob > 0) {
        told_bob = 0;
        put(bob.grant().on_link, to_alice);
      }
      // Urgent packets first, as on a link.
      std::ranges::stable_sort(to_bob, {}, &Session::Packet::lane);
      if (!to_bob.empty()) {
        Session::Packet packet = std::move(to_bob.front());
        to_bob.pop_front();
        arrive_at_bob(std::move(packet));
      }
      if (!to_alice.empty()) {
        Session::Packet packet = std::move(to_alice.front());
        to_alice.pop_front();
        auto received = alice.receive(now, std::move(packet.frames));
        BOOST_REQUIRE(received.ok());
        put(std::move(received.value().on_link), to_bob);
      }
    }
  }

  /// Advances time until neither side sends anything by itself, or by `limit`.
  void pass(Duration limit) {
    const TimePoint end = now + limit;
    exchange();
    while (true) {
      const auto a = alice.next_due();
      const auto b = bob.next_due();
      if (!a && !b) return;
      const TimePoint next = std::min(a.value_or(TimePoint::max()), b.value_or(TimePoint::max()));
      if (next > end) return;
      now = std::max(now, next);
      put(alice.tick(now), to_bob);
      put(bob.tick(now), to_alice);
      exchange();
    }
  }

  void begin(const std::string& name) { credits.at(name)->begin(); }

  Session alice;
  Session bob;
  TimePoint now = at(0ms);
  std::deque<Session::Packet> to_bob, to_alice;
  std::vector<std::string> arrived, no_memory_for;
  std::map<std::string, std::unique_ptr<CallCredit>> credits;
  int told_alice = 0;
  int told_bob = 0;
};

using Names = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(large_message_arrives_as_it_was_sent) {
  Talk talk;
  const Frames sent{frame("name"), frame(std::string(333, 'a')), frame(""), frame("b"), frame(std::string(77, 'c'))};
  Talk::put(talk.alice.send(talk.now, pack(sent, kSmallPieces)).value(), talk.to_bob);
  Frames got;
  while (got.empty() && (!talk.to_bob.empty() || !talk.to_alice.empty())) {
    auto received = talk.bob.receive(talk.now, std::move(talk.to_bob.front().frames)).value();
    talk.to_bob.pop_front();
    if (!received.delivered.empty()) got = std::move(received.delivered[0].frames);
    for (Session::Packet& packet : received.on_link) {
      Talk::put(talk.alice.receive(talk.now, std::move(packet.frames)).value().on_link, talk.to_bob);
    }
  }
  BOOST_REQUIRE_EQUAL(got.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(text(got[i]) == text(sent[i]));
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(got[1].bytes.data()) % 64 == 0U);
}

BOOST_AUTO_TEST_CASE(small_messages_overtake_a_large_one) {
  Talk talk;
  talk.send("large", 250);
  talk.send("small", 10);
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"small", "large"}));
}

BOOST_AUTO_TEST_CASE(messages_of_one_key_keep_their_order_whatever_their_size) {
  Talk talk;
  SessionOptions options = tight();
  options.grants.calls = options.first_grants.calls = 10;
  Talk wide(options);
  wide.send("1 small", 10, call(1, "rref/x"));
  wide.send("2 large", 250, call(2, "rref/x"));
  wide.send("3 small", 10, call(3, "rref/x"));
  wide.send("4 small of another", 10, call(4, "rref/y"));
  // The first message is lost. Later messages of its key wait for it; those of another key do not.
  Session::Packet lost = std::move(wide.to_bob.front());
  wide.to_bob.pop_front();
  wide.exchange();
  BOOST_TEST(wide.arrived.empty());  // the express lane has a gap before them
  wide.arrive_at_bob(std::move(lost));
  wide.exchange();
  BOOST_TEST(wide.arrived == (Names{"1 small", "2 large", "3 small", "4 small of another"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(call_waits_until_the_peer_has_begun_earlier_ones, *label("fault-F06") * label("fault-F46")) {
  Talk talk;
  for (std::uint64_t i = 1; i <= 5; ++i) talk.send(std::to_string(i), 10, call(i));
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2"}));  // one at first, and two once the peer was heard
  BOOST_TEST(talk.alice.waiting_calls() == 3U);
  talk.begin("1");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2", "3"}));
  talk.begin("3");
  talk.begin("2");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2", "3", "4", "5"}));
  BOOST_TEST(talk.alice.waiting_calls() == 0U);
}

BOOST_AUTO_TEST_CASE(words_and_answers_wait_for_no_call) {
  Talk talk;
  for (std::uint64_t i = 1; i <= 5; ++i) talk.send(std::to_string(i), 250, call(i));
  talk.send("word", 10);
  talk.send("large word", 250);
  talk.send("large answer", 250, {.of = Posting::Class::answer});
  talk.exchange();
  BOOST_TEST(std::ranges::count(talk.arrived, "word") == 1);
  BOOST_TEST(std::ranges::count(talk.arrived, "large word") == 1);
  BOOST_TEST(std::ranges::count(talk.arrived, "large answer") == 1);
  BOOST_TEST(talk.alice.waiting_calls() > 0U);
}

BOOST_AUTO_TEST_CASE(calls_made_inside_served_functions_have_credit_that_outer_calls_cannot_take, *label("fault-F38")) {
  Talk talk;
  for (std::uint64_t i = 1; i <= 3; ++i) talk.send("outer " + std::to_string(i), 250, call(i));
  talk.send("nested", 10, {.of = Posting::Class::nested_call, .request = RequestId{9}});
  talk.exchange();
  BOOST_TEST(std::ranges::count(talk.arrived, "nested") == 1);
  BOOST_TEST(std::ranges::count(talk.arrived, "outer 3") == 0);
}

BOOST_AUTO_TEST_CASE(bytes_of_calls_that_have_not_begun_stay_within_the_grant) {
  SessionOptions options = tight();
  options.grants.calls = options.first_grants.calls = 100;
  Talk talk(options);
  for (std::uint64_t i = 1; i <= 10; ++i) talk.send(std::to_string(i), 120, call(i));
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2"}));  // 2 x 120 bytes, the third does not fit into 300
  for (int i = 1; i <= 8; ++i) {
    talk.begin(std::to_string(i));
    talk.exchange();
    BOOST_TEST(talk.arrived.size() == static_cast<std::size_t>(i) + 2);
  }
}

BOOST_AUTO_TEST_CASE(message_larger_than_the_grant_travels_alone) {
  SessionOptions options = tight();
  options.grants.calls = options.first_grants.calls = 100;
  Talk talk(options);
  talk.send("before", 120, call(1));
  talk.send("huge", 5000, call(2));
  talk.send("after", 120, call(3));
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"before"}));
  talk.begin("before");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"before", "huge"}));
  talk.begin("huge");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"before", "huge", "after"}));
}

BOOST_AUTO_TEST_CASE(call_beyond_what_may_wait_is_refused_at_once, *label("fault-F06")) {
  SessionOptions options = tight();
  options.waiting_calls_max = 3;
  options.waiting_bytes_max = 1000;
  Talk talk(options);
  for (std::uint64_t i = 1; i <= 4; ++i) talk.send(std::to_string(i), 10, call(i));  // the first leaves
  auto refused = talk.alice.send(talk.now, parcel("5", 10), call(5));
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(
      refused.error().message ==
      "3 calls of 33 bytes wait for the peer, at most 3 of 1000 (peer.waiting_calls_max, peer.waiting_bytes_max); "
      "one more has 11 bytes");
  BOOST_TEST(talk.alice.send(talk.now, parcel("a word", 5000)).ok());
  talk.exchange();
  talk.begin("1");
  talk.exchange();
  BOOST_TEST(!talk.alice.send(talk.now, parcel("6", 990), call(6)).ok());
  BOOST_TEST(talk.alice.send(talk.now, parcel("7", 10), call(7)).ok());
}

BOOST_AUTO_TEST_CASE(call_larger_than_all_that_may_wait_is_taken_once_and_keeps_nobody_out) {
  SessionOptions options = tight();
  options.waiting_bytes_max = 1000;
  Talk talk(options);
  BOOST_TEST(talk.alice.send(talk.now, parcel("huge", 5000), call(1)).ok());
  BOOST_TEST(!talk.alice.send(talk.now, parcel("huge too", 5000), call(2)).ok());
  BOOST_TEST(talk.alice.send(talk.now, parcel("small", 10), call(3)).ok());
  BOOST_TEST(talk.alice.take_back(talk.now, RequestId{1}).in_time);
  BOOST_TEST(talk.alice.send(talk.now, parcel("huge too", 5000), call(4)).ok());
}

BOOST_AUTO_TEST_CASE(call_taken_back_before_it_left_is_never_delivered_and_holds_nothing) {
  Talk talk;
  for (std::uint64_t i = 1; i <= 4; ++i) talk.send(std::to_string(i), 10, call(i));
  talk.exchange();
  auto taken = talk.alice.take_back(talk.now, RequestId{3});
  BOOST_TEST(taken.in_time);
  BOOST_TEST(!taken.granted);
  BOOST_TEST(!talk.alice.take_back(talk.now, RequestId{1}).in_time);  // it was sent
  BOOST_TEST(!talk.alice.take_back(talk.now, RequestId{77}).in_time);
  talk.begin("1");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2", "4"}));
  BOOST_TEST(talk.alice.waiting_calls() == 0U);
  BOOST_TEST(talk.alice.waiting_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(free_call_waits_for_no_grant_of_calls_and_can_be_taken_back) {
  const auto free_call = [](std::uint64_t request) {
    return Posting{.of = Posting::Class::free_call, .request = RequestId{request}};
  };
  Talk talk;  // one call is granted, and none begins
  for (std::uint64_t i = 1; i <= 4; ++i) talk.send(std::to_string(i), 10, free_call(i));
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"1", "2", "3", "4"}));
  talk.send("large", 290, free_call(5));
  auto taken = talk.alice.take_back(talk.now, RequestId{5});
  BOOST_TEST(taken.in_time);
  Talk::put(std::move(taken.on_link), talk.to_bob);
  talk.send("next", 290, free_call(6));
  talk.pass(10s);
  BOOST_TEST(talk.arrived.back() == "next");
  BOOST_TEST(talk.arrived.size() == 5U);
  BOOST_TEST(talk.alice.waiting_calls() == 0U);
  BOOST_TEST(!talk.alice.take_back(talk.now, RequestId{6}).in_time);  // it was sent
  BOOST_TEST(talk.alice.flushed());
}

BOOST_AUTO_TEST_CASE(call_taken_back_half_way_stops_and_frees_what_had_come) {
  Talk talk;
  talk.send("large", 290, call(1));
  for (int pieces = 0; pieces < 3; ++pieces) {  // the first frame, and 100 of its bytes
    talk.arrive_at_bob(std::move(talk.to_bob.front()));
    talk.to_bob.pop_front();
  }
  const std::size_t under_way = talk.to_bob.size();
  auto taken = talk.alice.take_back(talk.now, RequestId{1});
  BOOST_TEST(taken.in_time);
  BOOST_REQUIRE_EQUAL(taken.on_link.size(), 1U);
  BOOST_TEST((decode_session_header(taken.on_link[0].frames[0].bytes).value().part == Part::dropped));
  BOOST_TEST(under_way == 0U);
  Talk::put(std::move(taken.on_link), talk.to_bob);
  talk.send("next", 290, call(2));
  talk.send("third", 290, call(3));
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"next"}));
  talk.begin("next");
  talk.exchange();
  BOOST_TEST((talk.arrived == Names{"next", "third"}));
}

BOOST_AUTO_TEST_CASE(call_that_is_taken_back_leaves_no_grant_to_others, *label("fault-F46")) {
  SessionOptions options = tight();
  options.grants.calls = options.first_grants.calls = 100;
  Talk talk(options);
  talk.send("huge", 5000, call(1));
  for (int pieces = 0; pieces < 3; ++pieces) {  // the first frame, and 100 of its bytes
    talk.arrive_at_bob(std::move(talk.to_bob.front()));
    talk.to_bob.pop_front();
  }
  Talk::put(talk.alice.take_back(talk.now, RequestId{1}).on_link, talk.to_bob);
  for (std::uint64_t i = 2; i <= 21; ++i) talk.send(std::to_string(i), 290, call(i));
  talk.pass(10s);
  BOOST_TEST((talk.arrived == Names{"2"}));  // the third does not fit into 300
  for (std::uint64_t i = 2; i <= 20; ++i) {
    talk.begin(std::to_string(i));
    talk.exchange();
    BOOST_TEST(talk.arrived.size() == i);
  }
  talk.begin("21");
  talk.send("as huge", 5000, call(22));
  talk.exchange();
  BOOST_TEST(talk.arrived.back() == "as huge");
}

BOOST_AUTO_TEST_CASE(what_remains_of_the_deadline_is_written_when_a_message_leaves) {
  Talk talk;
  talk.send("1", 10, call(1));
  Posting late = call(2);
  late.due = at(1000ms);
  talk.send("2", 10, late);
  talk.exchange();
  BOOST_TEST(talk.arrived.size() == 2U);
  Talk slow;
  for (std::uint64_t i = 1; i <= 2; ++i) slow.send(std::to_string(i), 10, call(i));
  Posting third = call(3);
  third.due = at(1000ms);
  slow.send("3", 10, third);
  slow.exchange();
  slow.now = at(400ms);
  slow.begin("1");
  slow.told_bob = 0;
  Talk::put(slow.bob.grant().on_link, slow.to_alice);
  auto received = slow.alice.receive(slow.now, std::move(slow.to_alice.front().frames)).value();
  BOOST_REQUIRE(!received.on_link.empty());
  BOOST_TEST(decode_session_header(received.on_link[0].frames[0].bytes).value().remaining_us == 600'000U);
}

BOOST_AUTO_TEST_CASE(lost_grant_is_asked_for) {
  Talk talk;
  for (std::uint64_t i = 1; i <= 3; ++i) talk.send(std::to_string(i), 10, call(i));
  talk.exchange();
  talk.begin("1");
  talk.told_bob = 0;
  (void)talk.bob.grant();  // lost
  talk.pass(10s);
  BOOST_TEST((talk.arrived == Names{"1", "2", "3"}));
}

BOOST_AUTO_TEST_CASE(peer_that_sends_more_than_it_was_granted_is_found_out, *label("fault-F40") * label("fault-F46")) {
  SessionOptions generous = tight();
  generous.first_grants = {.calls = 1000, .nested = 1000, .bytes = {0, 100'000, 100'000, 100'000, 100'000}};
  const auto code_of_last = [&](auto send_all) {
    Session liar(kAlice, kBob, generous);
    Session bob(kBob, kAlice, tight());
    ErrorCode code{};
    for (Session::Packet& packet : send_all(liar)) {
      auto received = bob.receive(at(0ms), std::move(packet.frames));
      if (!received) code = received.error().code;
    }
    return code;
  };
  const auto many = [](Session& liar) {
    Session::Packets all;
    for (std::uint64_t i = 0; i < 3; ++i)
      std::ranges::move(liar.send(at(0ms), parcel("m", 1), call(i)).value(), std::back_inserter(all));
    return all;
  };
  BOOST_TEST((code_of_last(many) == ErrorCode::protocol_violation));
  const auto large = [](Session& liar) { return liar.send(at(0ms), parcel("m", 5000)).value(); };
  // A single message beyond the grant is granted, so its bytes are legal; a second one behind it is not.
  const auto two = [&](Session& liar) {
    Session::Packets all = liar.send(at(0ms), parcel("m", 290), call(1)).value();
    std::ranges::move(liar.send(at(0ms), parcel("n", 290), call(2)).value(), std::back_inserter(all));
    return all;
  };
  BOOST_TEST((code_of_last(large) == ErrorCode{}));
  BOOST_TEST((code_of_last(two) == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_CASE(pieces_that_make_no_message_are_a_protocol_violation, *label("fault-F42")) {
  const auto forged = [](std::vector<std::pair<Part, Frames>> pieces) {
    Session bob(kBob, kAlice, tight());
    std::uint64_t number = 0;
    for (auto& [part, frames] : pieces) {
      SessionHeader header{.lane = SessionLane::words, .part = part, .from = kAlice, .to = kBob, .number = ++number};
      Frames packet{encode(header)};
      packet.insert(packet.end(), frames.begin(), frames.end());
      auto received = bob.receive(at(0ms), std::move(packet));
      if (!received) return std::string(name_of(received.error().code)) + ": " + received.error().message;
    }
    return std::string("understood");
  };
  const auto table = [](std::vector<std::uint64_t> sizes) {
    std::string bytes(sizes.size() * 8, '\0');
    std::memcpy(bytes.data(), sizes.data(), bytes.size());
    return frame(bytes);
  };
  const Frames first{table({1, 5}), frame("h")};
  BOOST_TEST(forged({{Part::first, first}, {Part::last, {frame("12345")}}}) == "understood");
  BOOST_TEST(forged({{Part::middle, {frame("x")}}}) == "protocol_violation: a piece of no message");
  BOOST_TEST(forged({{Part::dropped, {}}}) == "protocol_violation: a piece of no message");
  BOOST_TEST(forged({{Part::first, first}, {Part::first, first}}) == "protocol_violation: a message within another");
  BOOST_TEST(forged({{Part::first, first}, {Part::last, {frame("123456")}}}) ==
             "protocol_violation: 6 bytes for a message of which 5 are missing");
  BOOST_TEST(forged({{Part::first, first}, {Part::last, {frame("1234")}}}) ==
             "protocol_violation: the last piece of a message that is not complete");
  BOOST_TEST(forged({{Part::first, {table({2, 5}), frame("h")}}}) ==
             "protocol_violation: frame 0 has 1 bytes and announces 2");
  BOOST_TEST(forged({{Part::first, {frame("1234567"), frame("h")}}}) ==
             "protocol_violation: a table of 7 bytes for the frames of a message");
  BOOST_TEST(forged({{Part::first, {table({1}), frame("h")}}}) ==
             "protocol_violation: a table of 8 bytes for the frames of a message");
  BOOST_TEST(forged({{Part::first, {table({1, 5})}}}) ==
             "protocol_violation: the first piece of a message has 1 frames, not 2");
  const std::uint64_t half = kMessageBytesMax / 2 + 1;
  BOOST_TEST(forged({{Part::first, {table({1, half, half}), frame("h")}}}) ==
             "too_large: a message of more than 1099511627776 bytes");
  BOOST_TEST(forged({{Part::first, {table({1, ~0ULL, 2}), frame("h")}}}) ==
             "too_large: a message of more than 1099511627776 bytes");
}

/// Where vm.overcommit_memory is 1, every size is granted, and fails when it is written.
boost::test_tools::assertion_result refuses_half_a_tebibyte(boost::unit_test::test_unit_id /*unit*/) {
  void* volatile memory = std::malloc(std::size_t{1} << 39);  // volatile: the compiler may not leave it out
  boost::test_tools::assertion_result refused(memory == nullptr);
  std::free(memory);
  refused.message() << "it needs a system that refuses to allocate 2^39 bytes";
  return refused;
}

BOOST_AUTO_TEST_CASE(messages_of_no_bytes_that_wait_for_a_small_one_are_bounded,
                     *label("attack") * label("fault-F42")) {
  const SessionOptions options = tight();
  Session bob(kBob, kAlice, options);
  SessionHeader waits{.lane = SessionLane::words, .part = Part::whole, .from = kAlice, .to = kBob, .after = 1};
  const auto pass = [&](std::uint64_t first, std::uint64_t last) {
    std::size_t delivered = 0;
    for (waits.number = first; waits.number <= last; ++waits.number) {
      const auto received = bob.receive(at(0ms), {encode(waits), frame("")});
      BOOST_REQUIRE(received.ok());
      delivered += received.value().delivered.size();
    }
    return delivered;
  };
  const std::uint64_t window = options.in.window_messages;
  BOOST_TEST(pass(1, 10 * window) == 0U);
  BOOST_TEST(bob.counts().overflow == 9 * window);
  const SessionHeader small{.lane = SessionLane::express, .part = Part::whole, .from = kAlice, .to = kBob, .number = 1};
  const auto released = bob.receive(at(0ms), {encode(small), frame("small")});
  BOOST_REQUIRE(released.ok());
  BOOST_TEST(released.value().delivered.size() == window + 1);
  BOOST_TEST(pass(window + 1, 2 * window) == window);  // sent again
}

BOOST_AUTO_TEST_CASE(message_in_memory_that_cannot_be_mapped_fails_and_the_next_one_arrives, *label("fault-F14")) {
  Session bob(kBob, kAlice, tight());
  SessionHeader header{.lane = SessionLane::words, .part = Part::whole, .from = kAlice, .to = kBob, .number = 1};
  header.bytes_used = 8;  // of "next" and "body"
  Frame missing;
  missing.memory = FrameMemory::missing;
  const auto failed = bob.receive(at(0ms), {encode(header), frame("h"), frame("body"), missing});
  BOOST_REQUIRE(failed.ok());
  BOOST_TEST(failed.value().delivered.empty());
  BOOST_REQUIRE_EQUAL(failed.value().no_memory_for.size(), 1U);
  BOOST_TEST(text(failed.value().no_memory_for[0]) == "h");
  header.number = 2;
  const auto next = bob.receive(at(0ms), {encode(header), frame("next"), frame("body")});
  BOOST_REQUIRE(next.ok());
  BOOST_REQUIRE_EQUAL(next.value().delivered.size(), 1U);
}

BOOST_AUTO_TEST_CASE(claimed_size_takes_no_memory_and_one_without_memory_is_told,
                     *label("fault-F14") * label("fault-F42") *
                         boost::unit_test::precondition(refuses_half_a_tebibyte)) {
  // No machine has 2^39 bytes of memory, but the claim itself is legal.
  Session bob(kBob, kAlice, tight());
  std::string sizes(16, '\0');
  const std::uint64_t claim = std::uint64_t{1} << 39;
  sizes[0] = 1;
  std::memcpy(sizes.data() + 8, &claim, sizeof claim);
  SessionHeader header{.lane = SessionLane::words, .part = Part::first, .from = kAlice, .to = kBob, .number = 1};
  auto received = bob.receive(at(0ms), {encode(header), frame(sizes), frame("h")});
  BOOST_REQUIRE(received.ok());
  BOOST_REQUIRE_EQUAL(received.value().no_memory_for.size(), 1U);
  BOOST_TEST(text(received.value().no_memory_for[0]) == "h");
  // The sender withdraws the message; the lane continues.
  header.number = 2;
  header.part = Part::dropped;
  BOOST_TEST(bob.receive(at(0ms), {encode(header)}).ok());
  header.number = 3;
  header.part = Part::whole;
  header.bytes_used = 4;
  BOOST_TEST(bob.receive(at(0ms), {encode(header), frame("next")}).value().delivered.size() == 1U);
}

BOOST_AUTO_TEST_CASE(goodbye_waits_for_all_lanes) {
  Talk talk;
  talk.send("large", 250);
  Session::Packet goodbye = talk.alice.goodbye();
  BOOST_TEST(!talk.bob.receive(talk.now, goodbye.frames).value().goodbye);
  bool heard = false;
  while (!talk.to_bob.empty() || !talk.to_alice.empty()) {
    if (!talk.to_bob.empty()) {
      auto received = talk.bob.receive(talk.now, std::move(talk.to_bob.front().frames)).value();
      talk.to_bob.pop_front();
      heard = heard || received.goodbye;
      BOOST_TEST(received.goodbye == !received.delivered.empty());
      Talk::put(std::move(received.on_link), talk.to_alice);
    }
    if (!talk.to_alice.empty()) {
      Talk::put(talk.alice.receive(talk.now, std::move(talk.to_alice.front().frames)).value().on_link, talk.to_bob);
      talk.to_alice.pop_front();
    }
  }
  BOOST_TEST(heard);
}

BOOST_AUTO_TEST_CASE(damaged_packet_is_not_intact, *label("fault-F11")) {
  Talk talk;
  talk.send("large", 290);
  for (const Session::Packet& packet : talk.to_bob) {
    BOOST_TEST(is_intact(packet.frames));
    for (std::size_t i = 1; i < packet.frames.size(); ++i) {
      std::string bytes = text(packet.frames[i]);
      if (bytes.empty()) continue;
      bytes[bytes.size() / 2] ^= 1;
      Frames damaged = packet.frames;
      damaged[i] = frame(bytes);
      BOOST_TEST(!is_intact(damaged));
    }
    Frames shorter = packet.frames;
    shorter.push_back(frame(""));
    BOOST_TEST(!is_intact(shorter));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
