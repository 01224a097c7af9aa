#include "actors/sessions/session.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/actors/sessions/alice_and_bob.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(session_rules)

using namespace std::chrono_literals;
using testing::at;
using testing::frame;
using testing::kAlice;
using testing::kBob;
using testing::text;

constexpr Incarnation kMallory{.high = 0xC, .low = 3};

Frames message(std::string_view body) { return Frames{frame(body)}; }

SessionHeader header_of(const Frames& frames) { return decode_session_header(frames.at(0).bytes).value(); }

std::vector<Frames> frames_of(Session::Packets packets) {
  std::vector<Frames> frames;
  for (Session::Packet& packet : packets) frames.push_back(std::move(packet.frames));
  return frames;
}

/// Sends one message that must be accepted. Returns the packets for the link.
std::vector<Frames> send(Session& session, Duration t, std::string_view body, Posting posting = {}) {
  return frames_of(session.send(at(t), pack(message(body)), std::move(posting)).value());
}

Session::Received receive(Session& session, Duration t, const Frames& frames) {
  return session.receive(at(t), frames).value();
}

/// Gives the session a message that rides on another. Returns the packets for the link.
std::vector<Frames> ride(Session& session, Duration t, std::string_view body) {
  return frames_of(session.ride(at(t), pack({frame(body), frame("body")})).value());
}

/// Returns the names of what a packet delivers, in order.
std::vector<std::string> names_in(Session& session, Duration t, const Frames& packet) {
  std::vector<std::string> names;
  for (const Session::Delivered& message : receive(session, t, packet).delivered) {
    names.push_back(text(message.frames.at(0)));
  }
  return names;
}

using Names = std::vector<std::string>;

/// Delivers the delayed acknowledgements of `of` to `to`. Returns the packets that `to` sends in response.
Session::Packets acknowledge(Session& of, Session& to, Duration t) {
  Session::Packets on_link;
  for (const Session::Packet& packet : of.tick(at(1h))) {
    for (Session::Packet& next : receive(to, t, packet.frames).on_link) on_link.push_back(std::move(next));
  }
  return on_link;
}

/// Hands everything back to the session that it gave, as a router does.
Session::Received receive_and_hand_back(Session& session, Duration t, const Frames& frames) {
  Session::Received received = receive(session, t, frames);
  Session::Received copy = received;
  session.reuse(std::move(received.on_link));
  session.reuse(std::move(received));
  return copy;
}

ErrorCode refused(Session& session, const Frames& frames) { return session.receive(at(0ms), frames).error().code; }

struct Pair {
  explicit Pair(SessionOptions options = {}) : alice(kAlice, kBob, options), bob(kBob, kAlice, options) {}
  Session alice;
  Session bob;
};

BOOST_AUTO_TEST_CASE(results_that_are_handed_back_do_not_show_in_later_ones) {
  Pair pair;
  const std::vector<Frames> first = send(pair.alice, 0ms, "first");
  const std::vector<Frames> second = send(pair.alice, 0ms, "second");
  BOOST_TEST(receive_and_hand_back(pair.bob, 1ms, second.at(0)).delivered.empty());
  const Session::Received both = receive_and_hand_back(pair.bob, 1ms, first.at(0));
  BOOST_TEST(both.delivered.size() == 2U);
  const std::vector<Frames> third = send(pair.alice, 2ms, "third");
  const Session::Received one = receive_and_hand_back(pair.bob, 3ms, third.at(0));
  BOOST_TEST_REQUIRE(one.delivered.size() == 1U);
  BOOST_TEST(text(one.delivered.front().frames.at(0)) == "third");
  BOOST_TEST(!one.goodbye);

  const Session::Packet goodbye = pair.alice.goodbye();
  BOOST_TEST(receive_and_hand_back(pair.bob, 4ms, goodbye.frames).goodbye);
  const Session::Received again = receive_and_hand_back(pair.bob, 5ms, third.at(0));
  BOOST_TEST(again.delivered.empty());
  BOOST_TEST(!again.goodbye);
}

BOOST_AUTO_TEST_CASE(message_arrives_once_with_its_frames) {
  Pair pair;
  const auto sent = frames_of(pair.alice.send(at(0ms), pack({frame("one"), frame(""), frame("three")})).value());
  BOOST_REQUIRE_EQUAL(sent.size(), 1U);
  BOOST_TEST(is_intact(sent[0]));
  const Session::Received got = receive(pair.bob, 1ms, sent[0]);
  BOOST_REQUIRE_EQUAL(got.delivered.size(), 1U);
  BOOST_REQUIRE_EQUAL(got.delivered[0].frames.size(), 3U);
  BOOST_TEST(text(got.delivered[0].frames[0]) == "one");
  BOOST_TEST(text(got.delivered[0].frames[1]).empty());
  BOOST_TEST(text(got.delivered[0].frames[2]) == "three");
}

BOOST_AUTO_TEST_CASE(small_body_is_not_copied) {
  Pair pair;
  Frames body = message("tensor");
  const std::byte* bytes = body[0].bytes.data();
  const auto on_link = frames_of(pair.alice.send(at(0ms), pack(std::move(body))).value());
  BOOST_TEST(on_link[0][1].bytes.data() == bytes);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered[0].frames[0].bytes.data() == bytes);
}

BOOST_AUTO_TEST_CASE(acknowledgement_waits_20_ms_for_a_message_to_ride_on) {
  Pair pair;
  const auto question = send(pair.alice, 0ms, "question");
  BOOST_TEST(receive(pair.bob, 1ms, question[0]).on_link.empty());
  BOOST_TEST((pair.bob.next_due() == at(21ms)));
  const auto answer = send(pair.bob, 2ms, "answer");
  BOOST_TEST(pair.bob.tick(at(30ms)).empty());
  (void)receive(pair.alice, 3ms, answer[0]);
  BOOST_TEST(pair.alice.flushed());
}

BOOST_AUTO_TEST_CASE(acknowledgement_goes_alone_after_20_ms) {
  Pair pair;
  (void)receive(pair.bob, 1ms, send(pair.alice, 0ms, "m")[0]);
  BOOST_TEST(pair.bob.tick(at(20ms)).empty());
  const auto due = frames_of(pair.bob.tick(at(21ms)));
  BOOST_REQUIRE_EQUAL(due.size(), 1U);
  BOOST_TEST((header_of(due[0]).kind == SessionKind::ack));
  BOOST_TEST(!pair.bob.next_due().has_value());
  (void)receive(pair.alice, 22ms, due[0]);
  BOOST_TEST(pair.alice.flushed());
  BOOST_TEST(!pair.alice.next_due().has_value());
}

BOOST_AUTO_TEST_CASE(thirty_two_messages_or_64_kib_are_acknowledged_at_once) {
  Pair pair;
  for (int i = 0; i < 31; ++i) BOOST_TEST(receive(pair.bob, 0ms, send(pair.alice, 0ms, "m")[0]).on_link.empty());
  BOOST_TEST(receive(pair.bob, 0ms, send(pair.alice, 0ms, "m")[0]).on_link.size() == 1U);
  BOOST_TEST(receive(pair.bob, 0ms, send(pair.alice, 0ms, std::string(64 << 10, 'x'))[0]).on_link.size() == 1U);
}

BOOST_AUTO_TEST_CASE(frames_are_released_as_soon_as_they_are_acknowledged) {
  Pair pair;
  auto owner = std::make_shared<std::string>("tensor");
  const std::weak_ptr<std::string> held = owner;
  Frames body{Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = std::move(owner)}};
  Frames on_link = frames_of(pair.alice.send(at(0ms), pack(std::move(body))).value())[0];
  (void)receive(pair.bob, 0ms, on_link);
  on_link.clear();
  BOOST_TEST(!held.expired());
  (void)acknowledge(pair.bob, pair.alice, 1ms);
  BOOST_TEST(held.expired());
}

BOOST_AUTO_TEST_CASE(lost_message_is_sent_again_after_200_ms_then_with_growing_gaps_up_to_2_s,
                     *boost::unit_test::label("fault-F01")) {
  Pair pair;
  (void)send(pair.alice, 0ms, "lost");
  std::vector<Duration> resent;
  for (TimePoint now = *pair.alice.next_due(); resent.size() < 9;) {
    BOOST_REQUIRE_EQUAL(pair.alice.tick(now).size(), 1U);
    resent.push_back(now - at(0ms));
    now = *pair.alice.next_due();
  }
  // Gaps 200, 300, 450, 675, 1012.5, 1518.75, then 2000 for ever.
  const std::vector<Duration> expected{200ms,     500ms,     950ms,     1625ms,    2637500us,
                                       4156250us, 6156250us, 8156250us, 10156250us};
  BOOST_TEST((resent == expected));
  BOOST_TEST(pair.alice.counts().resent == 9U);
}

BOOST_AUTO_TEST_CASE(duplicate_is_ignored_and_acknowledged_again, *boost::unit_test::label("fault-F03")) {
  Pair pair;
  const auto on_link = send(pair.alice, 0ms, "m");
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered.size() == 1U);
  const Session::Received again = receive(pair.bob, 1ms, on_link[0]);
  BOOST_TEST(again.delivered.empty());
  BOOST_TEST(again.on_link.size() == 1U);
  BOOST_TEST(pair.bob.counts().duplicates == 1U);
}

BOOST_AUTO_TEST_CASE(reordered_messages_are_delivered_in_order, *boost::unit_test::label("fault-F04")) {
  Pair pair;
  const auto first = send(pair.alice, 0ms, "first");
  const auto second = send(pair.alice, 0ms, "second");
  const auto third = send(pair.alice, 0ms, "third");
  BOOST_TEST(receive(pair.bob, 0ms, third[0]).delivered.empty());
  BOOST_TEST(receive(pair.bob, 0ms, second[0]).delivered.empty());
  BOOST_TEST(pair.bob.early_packets() == 2U);
  const Session::Received got = receive(pair.bob, 0ms, first[0]);
  BOOST_REQUIRE_EQUAL(got.delivered.size(), 3U);
  BOOST_TEST(text(got.delivered[0].frames[0]) == "first");
  BOOST_TEST(text(got.delivered[1].frames[0]) == "second");
  BOOST_TEST(text(got.delivered[2].frames[0]) == "third");
  BOOST_TEST(pair.bob.early_packets() == 0U);
}

BOOST_AUTO_TEST_CASE(small_message_does_not_overtake_a_large_one_of_its_key_that_waits_for_a_lost_one,
                     *boost::unit_test::label("fault-F01")) {
  Pair pair;
  const Posting of_key{.order_key = "rref/1"};
  const auto lost = send(pair.alice, 0ms, "first", of_key);
  const std::vector<Frames> large =
      frames_of(pair.alice.send(at(0ms), pack({frame("second"), frame(std::string(100'000, 'x'))}), of_key).value());
  for (const Frames& packet : large) {
    for (const Session::Packet& ack : receive(pair.bob, 0ms, packet).on_link)
      (void)receive(pair.alice, 0ms, ack.frames);
  }
  (void)acknowledge(pair.bob, pair.alice, 0ms);
  const auto small = send(pair.alice, 0ms, "third", of_key);
  BOOST_REQUIRE_EQUAL(small.size(), 1U);
  BOOST_TEST((header_of(small[0]).lane == SessionLane::express));  // the large one is acknowledged
  BOOST_TEST(names_in(pair.bob, 0ms, small[0]).empty());
  BOOST_TEST(names_in(pair.bob, 0ms, lost[0]) == (Names{"first", "second", "third"}));
}

/// Words, and what is sent with the key "k", over a window of one packet per lane.
struct Narrow {
  Narrow() {
    for (int i = 0; i < 3; ++i) put(send(pair.alice, 0ms, "word"));
  }
  void put(std::vector<Frames> packets) { std::ranges::move(packets, std::back_inserter(under_way)); }
  void call(std::uint64_t number, std::string_view name, std::size_t bytes) {
    const Posting posting{.of = Posting::Class::call, .request = RequestId{number}, .order_key = "k"};
    put(frames_of(pair.alice.send(at(0ms), pack({frame(name), frame(std::string(bytes, 'x'))}), posting).value()));
  }
  /// Sends another word, and delivers what is under way: two words wait at all times.
  void turn() {
    put(send(pair.alice, 0ms, "word"));
    for (const Frames& packet : std::exchange(under_way, {})) {
      const Session::Received got = receive(pair.bob, 0ms, packet);
      for (const Session::Delivered& message : got.delivered) {
        if (text(message.frames[0]) != "word") arrived.push_back(text(message.frames[0]));
      }
      for (const Session::Packet& ack : got.on_link) put(frames_of(receive(pair.alice, 0ms, ack.frames).on_link));
    }
  }

  Pair pair{{.in = {.ack_messages = 1}, .out = {.window_messages = 1}}};
  std::vector<Frames> under_way;
  Names arrived;
};

BOOST_AUTO_TEST_CASE(large_message_waits_for_the_small_one_of_its_key_and_for_none_behind_it) {
  Narrow narrow;
  narrow.call(1, "small", 10);
  narrow.call(2, "large", 100'000);
  for (int i = 0; i < 20; ++i) narrow.turn();
  BOOST_TEST(narrow.arrived == (Names{"small", "large"}));
}

BOOST_AUTO_TEST_CASE(large_message_keeps_its_place_when_the_one_before_it_is_taken_back) {
  Narrow narrow;
  narrow.call(1, "small", 10);
  narrow.call(2, "taken back", 10);
  narrow.call(3, "large", 100'000);
  BOOST_TEST(narrow.pair.alice.take_back(at(0ms), RequestId{2}).in_time);
  for (int i = 0; i < 20; ++i) narrow.turn();
  BOOST_TEST(narrow.arrived == (Names{"small", "large"}));
}

BOOST_AUTO_TEST_CASE(only_the_missing_message_is_sent_again) {
  Pair pair;
  for (int i = 1; i <= 5; ++i) {
    const auto on_link = send(pair.alice, 0ms, std::to_string(i));
    if (i == 1 || i == 3) continue;  // lost
    for (const Session::Packet& ack : receive(pair.bob, 1ms, on_link[0]).on_link)
      (void)receive(pair.alice, 2ms, ack.frames);
  }
  (void)acknowledge(pair.bob, pair.alice, 3ms);
  const auto due = frames_of(pair.alice.tick(at(200ms)));
  BOOST_REQUIRE_EQUAL(due.size(), 2U);
  BOOST_TEST(header_of(due[0]).number == 1U);
  BOOST_TEST(header_of(due[1]).number == 3U);
}

BOOST_AUTO_TEST_CASE(window_holds_messages_back_until_acknowledged) {
  Pair pair{{.out = {.window_messages = 2}}};
  const auto one = send(pair.alice, 0ms, "1");
  const auto two = send(pair.alice, 0ms, "2");
  BOOST_TEST(send(pair.alice, 0ms, "3").empty());
  (void)receive(pair.bob, 0ms, one[0]);
  (void)receive(pair.bob, 0ms, two[0]);
  const Session::Packets on_link = acknowledge(pair.bob, pair.alice, 1ms);
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(text(on_link[0].frames[1]) == "3");
}

BOOST_AUTO_TEST_CASE(with_much_in_flight_the_peer_is_asked_before_anything_is_resent) {
  Pair pair;
  std::vector<Frames> big;  // 8 x 64 KiB, more than the 4 KiB that are sent again at once
  for (int i = 0; i < 8; ++i) big.push_back(send(pair.alice, 0ms, std::string(64 << 10, 'x')).at(0));
  const auto due = frames_of(pair.alice.tick(at(200ms)));
  BOOST_REQUIRE_EQUAL(due.size(), 1U);
  BOOST_TEST((header_of(due[0]).kind == SessionKind::probe));
  BOOST_TEST(due[0].size() == 2U);  // a second frame keeps the packet behind the data
  BOOST_TEST((pair.alice.next_due() == at(400ms)));

  // The messages were only slow: they arrive before the probe, whose answer confirms them.
  for (const Frames& packet : big) (void)receive(pair.bob, 300ms, packet);
  const auto answer = frames_of(receive(pair.bob, 300ms, due[0]).on_link);
  BOOST_REQUIRE_EQUAL(answer.size(), 1U);
  BOOST_TEST(receive(pair.alice, 301ms, answer[0]).on_link.empty());
  BOOST_TEST(pair.alice.counts().resent == 0U);
  BOOST_TEST(pair.alice.flushed());
}

BOOST_AUTO_TEST_CASE(what_a_probe_overtook_was_lost_and_is_resent_once, *boost::unit_test::label("fault-F05")) {
  Pair pair;
  for (int i = 0; i < 5; ++i) (void)send(pair.alice, 0ms, std::string(64 << 10, 'x'));  // lost
  const Frames first_probe = frames_of(pair.alice.tick(at(200ms)))[0];
  const Frames second_probe = frames_of(pair.alice.tick(at(400ms)))[0];
  const Frames first_answer = receive(pair.bob, 410ms, first_probe).on_link[0].frames;
  const Frames second_answer = receive(pair.bob, 410ms, second_probe).on_link[0].frames;
  const auto resend = frames_of(receive(pair.alice, 420ms, first_answer).on_link);
  BOOST_REQUIRE_EQUAL(resend.size(), 5U);
  // They were sent again after the second probe, whose answer therefore does not cover them.
  BOOST_TEST(receive(pair.alice, 421ms, second_answer).on_link.empty());
  for (const Frames& packet : resend) BOOST_TEST(receive(pair.bob, 430ms, packet).delivered.size() == 1U);
}

BOOST_AUTO_TEST_CASE(messages_of_another_incarnation_are_refused, *boost::unit_test::label("fault-F15")) {
  Pair pair;
  Session mallory(kMallory, kBob);
  Session before_restart(kAlice, kMallory);
  BOOST_TEST((refused(pair.bob, send(mallory, 0ms, "m")[0]) == ErrorCode::peer_restarted));
  BOOST_TEST((refused(pair.bob, send(before_restart, 0ms, "m")[0]) == ErrorCode::peer_restarted));
  BOOST_TEST(pair.bob.counts().delivered == 0U);
  BOOST_TEST(pair.bob.counts().refused == 2U);
}

BOOST_AUTO_TEST_CASE(every_flipped_bit_of_a_header_is_refused_and_changes_nothing,
                     *boost::unit_test::label("fault-F11")) {
  Pair pair;
  const auto on_link = send(pair.alice, 0ms, "m");
  for (std::size_t bit = 0; bit < SessionHeader::kBytes * 8; ++bit) {
    std::string damaged = text(on_link[0][0]);
    damaged[bit / 8] = static_cast<char>(static_cast<unsigned char>(damaged[bit / 8]) ^ (1U << (bit % 8)));
    const ErrorCode code = refused(pair.bob, {frame(damaged), on_link[0][1]});
    BOOST_TEST((code == ErrorCode::decode || code == ErrorCode::version_mismatch));
  }
  BOOST_TEST(pair.bob.counts().refused == SessionHeader::kBytes * 8);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered.size() == 1U);
}

BOOST_AUTO_TEST_CASE(header_of_every_other_length_is_refused) {
  Pair pair;
  const auto on_link = send(pair.alice, 0ms, "m");
  const std::string whole = text(on_link[0][0]);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    BOOST_TEST((refused(pair.bob, {frame(whole.substr(0, length))}) == ErrorCode::decode));
  }
  BOOST_TEST((refused(pair.bob, {frame(whole + "x")}) == ErrorCode::decode));
  BOOST_TEST((refused(pair.bob, {}) == ErrorCode::decode));
}

BOOST_AUTO_TEST_CASE(acknowledging_what_was_never_sent_is_a_protocol_violation, *boost::unit_test::label("fault-F42")) {
  Pair pair;
  (void)send(pair.bob, 0ms, "m");
  const auto forged = [](SessionHeader header) {
    header.from = kAlice;
    header.to = kBob;
    return Frames{encode(header)};
  };
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::ack, .ack = 2})) == ErrorCode::protocol_violation));
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::ack, .ack = ~0ULL})) == ErrorCode::protocol_violation));
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::ack, .number = 1})) == ErrorCode::protocol_violation));
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::data})) == ErrorCode::protocol_violation));
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::goodbye})) == ErrorCode::protocol_violation));
  BOOST_TEST((refused(pair.bob, forged({.kind = SessionKind::data, .number = 1})) == ErrorCode::protocol_violation));
  for (const std::size_t bytes : {0U, 3U, 39U, 41U}) {  // the numbers of five lanes have 40
    Frames goodbye = forged({.kind = SessionKind::goodbye});
    goodbye.push_back(frame(std::string(bytes, '\0')));
    BOOST_TEST((refused(pair.bob, goodbye) == ErrorCode::protocol_violation));
  }
  const auto with_riders = [&](SessionHeader header, std::size_t frames) {
    header.riders = 2;
    Frames packet = forged(header);
    packet.insert(packet.end(), frames, frame("m"));
    return packet;
  };
  const SessionHeader whole{.kind = SessionKind::data, .number = 1};
  for (const std::size_t frames : {0U, 1U, 4U}) {  // two riders have 4, and a message has 1
    BOOST_TEST((refused(pair.bob, with_riders(whole, frames)) == ErrorCode::protocol_violation));
  }
  const SessionHeader in_words{.kind = SessionKind::data, .lane = SessionLane::words, .number = 1};
  const SessionHeader in_pieces{.kind = SessionKind::data, .part = Part::first, .number = 1};
  for (const SessionHeader& header : {in_words, in_pieces, SessionHeader{.kind = SessionKind::ack}}) {
    BOOST_TEST((refused(pair.bob, with_riders(header, 5)) == ErrorCode::protocol_violation));
  }
  BOOST_TEST((refused(pair.bob, with_riders({.kind = SessionKind::probe}, 1)) == ErrorCode::protocol_violation));
  Frames long_ack = forged({.kind = SessionKind::ack});
  long_ack.push_back(frame("x"));
  BOOST_TEST((refused(pair.bob, long_ack) == ErrorCode::protocol_violation));
  BOOST_TEST(!pair.bob.flushed());
  // Bits for messages that were never sent are ignored. A number far ahead is not stored.
  (void)receive(pair.bob, 0ms, forged({.kind = SessionKind::ack, .ahead = ~0ULL}));
  Frames far_ahead = forged({.kind = SessionKind::data, .number = ~0ULL});
  far_ahead.push_back(frame("m"));
  (void)receive(pair.bob, 0ms, far_ahead);
  BOOST_TEST(pair.bob.early_packets() == 0U);
  BOOST_TEST(pair.bob.counts().overflow == 1U);
}

BOOST_AUTO_TEST_CASE(reorder_buffer_holds_no_more_bytes_than_its_limit) {
  Pair pair{{.in = {.early_bytes_max = 1000}}};
  std::vector<Frames> on_link;
  for (int i = 0; i < 4; ++i) on_link.push_back(send(pair.alice, 0ms, std::string(600, 'x')).at(0));
  for (std::size_t i = 1; i < 4; ++i) (void)receive(pair.bob, 0ms, on_link[i]);
  BOOST_TEST(pair.bob.early_packets() == 1U);
  BOOST_TEST(pair.bob.counts().overflow == 2U);
}

BOOST_AUTO_TEST_CASE(duplicate_of_an_early_message_takes_no_room) {
  Pair pair{{.in = {.early_bytes_max = 1000}}};
  (void)send(pair.alice, 0ms, "lost");
  const auto early = send(pair.alice, 0ms, std::string(600, 'x'));
  const auto small = send(pair.alice, 0ms, std::string(100, 'x'));
  (void)receive(pair.bob, 0ms, early[0]);
  (void)receive(pair.bob, 0ms, early[0]);
  (void)receive(pair.bob, 0ms, small[0]);
  BOOST_TEST(pair.bob.counts().duplicates == 1U);
  BOOST_TEST(pair.bob.counts().overflow == 0U);
  BOOST_TEST(pair.bob.early_packets() == 2U);
}

BOOST_AUTO_TEST_CASE(messages_that_ride_share_the_packet_of_the_next_one_and_precede_it) {
  Pair pair;
  BOOST_TEST(ride(pair.alice, 0ms, "first").empty());
  BOOST_TEST(ride(pair.alice, 5ms, "second").empty());
  BOOST_TEST((pair.alice.next_due() == at(20ms)));
  const auto on_link = send(pair.alice, 6ms, "third");
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST((pair.alice.next_due() == at(206ms)));  // only if it has to be sent again
  const Session::Received got = receive(pair.bob, 7ms, on_link[0]);
  BOOST_REQUIRE_EQUAL(got.delivered.size(), 3U);
  BOOST_REQUIRE_EQUAL(got.delivered[0].frames.size(), 2U);
  BOOST_TEST(text(got.delivered[0].frames[0]) == "first");
  BOOST_TEST(text(got.delivered[0].frames[1]) == "body");
  BOOST_TEST(text(got.delivered[1].frames[0]) == "second");
  BOOST_REQUIRE_EQUAL(got.delivered[2].frames.size(), 1U);
  BOOST_TEST(text(got.delivered[2].frames[0]) == "third");
  BOOST_TEST(!pair.alice.flushed());
  (void)acknowledge(pair.bob, pair.alice, 8ms);
  BOOST_TEST(pair.alice.flushed());
  BOOST_TEST(pair.alice.counts().accepted == 3U);
}

BOOST_AUTO_TEST_CASE(messages_that_ride_go_alone_after_20_ms) {
  Pair pair;
  (void)ride(pair.alice, 1ms, "first");
  (void)ride(pair.alice, 2ms, "second");
  BOOST_TEST(pair.alice.tick(at(20ms)).empty());
  const auto due = frames_of(pair.alice.tick(at(21ms)));
  BOOST_REQUIRE_EQUAL(due.size(), 1U);
  BOOST_TEST(names_in(pair.bob, 22ms, due[0]) == (Names{"first", "second"}));
  BOOST_TEST(pair.alice.tick(at(100ms)).empty());
}

BOOST_AUTO_TEST_CASE(sixty_four_messages_that_ride_go_at_once) {
  Pair pair;
  for (int i = 0; i < 63; ++i) BOOST_TEST(ride(pair.alice, 0ms, "m").empty());
  const auto on_link = ride(pair.alice, 0ms, "m");
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered.size() == 64U);
}

BOOST_AUTO_TEST_CASE(large_messages_do_not_ride) {
  Pair pair;
  const auto on_link = ride(pair.alice, 0ms, std::string(1000, 'x'));
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered.size() == 1U);
}

BOOST_AUTO_TEST_CASE(nothing_overtakes_a_message_that_waits_for_the_window) {
  Pair pair{{.out = {.window_messages = 1}}};
  const auto first = send(pair.alice, 0ms, "first");
  (void)ride(pair.alice, 0ms, "second");
  BOOST_TEST(send(pair.alice, 0ms, "third").empty());
  BOOST_TEST(ride(pair.alice, 0ms, "fourth").empty());
  BOOST_TEST(pair.alice.tick(at(100ms)).empty());
  BOOST_TEST(names_in(pair.bob, 0ms, first[0]) == (Names{"first"}));
  auto on_link = frames_of(acknowledge(pair.bob, pair.alice, 0ms));
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(names_in(pair.bob, 0ms, on_link[0]) == (Names{"second", "third"}));
  on_link = frames_of(acknowledge(pair.bob, pair.alice, 0ms));
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(names_in(pair.bob, 0ms, on_link[0]) == (Names{"fourth"}));
}

BOOST_AUTO_TEST_CASE(messages_that_ride_on_one_that_is_taken_back_are_sent_all_the_same) {
  Pair pair{{.out = {.window_messages = 1}}};
  const auto first = send(pair.alice, 0ms, "first");
  (void)ride(pair.alice, 0ms, "second");
  BOOST_TEST(send(pair.alice, 0ms, "third", {.of = Posting::Class::call, .request = RequestId{7}}).empty());
  BOOST_TEST(pair.alice.take_back(at(1ms), RequestId{7}).in_time);
  BOOST_TEST((pair.alice.next_due() == at(21ms)));
  BOOST_TEST(pair.alice.tick(at(21ms)).empty());  // the window is full
  (void)receive(pair.bob, 22ms, first[0]);
  const auto on_link = frames_of(acknowledge(pair.bob, pair.alice, 22ms));
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(names_in(pair.bob, 22ms, on_link[0]) == (Names{"second"}));
}

BOOST_AUTO_TEST_CASE(lost_packet_is_sent_again_with_what_rides_on_it, *boost::unit_test::label("fault-F01")) {
  Pair pair;
  (void)ride(pair.alice, 0ms, "first");
  (void)send(pair.alice, 0ms, "lost");
  (void)ride(pair.alice, 1ms, "later");
  const auto again = frames_of(pair.alice.tick(at(200ms)));
  BOOST_REQUIRE_EQUAL(again.size(), 2U);
  for (const Frames& packet : again) BOOST_TEST(is_intact(packet));
  BOOST_TEST(names_in(pair.bob, 201ms, again[0]) == (Names{"first", "lost"}));
  BOOST_TEST(names_in(pair.bob, 201ms, again[1]) == (Names{"later"}));
  BOOST_TEST(names_in(pair.bob, 202ms, again[0]).empty());
}

BOOST_AUTO_TEST_CASE(damage_to_what_rides_is_seen, *boost::unit_test::label("fault-F11")) {
  Pair pair;
  (void)ride(pair.alice, 0ms, "first");
  Frames packet = send(pair.alice, 0ms, "second")[0];
  BOOST_TEST(is_intact(packet));
  packet.back() = frame("bodY");
  BOOST_TEST(!is_intact(packet));
}

BOOST_AUTO_TEST_CASE(goodbye_is_after_messages_that_ride) {
  Pair pair;
  (void)ride(pair.alice, 0ms, "last words");
  const auto on_link = frames_of(pair.alice.send_riders(at(0ms)));
  const Frames goodbye = pair.alice.goodbye().frames;
  BOOST_TEST(!receive(pair.bob, 0ms, goodbye).goodbye);
  BOOST_REQUIRE_EQUAL(on_link.size(), 1U);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).goodbye);
  BOOST_TEST(pair.alice.send_riders(at(0ms)).empty());
}

BOOST_AUTO_TEST_CASE(goodbye_is_told_once_after_everything_sent_before_it) {
  Pair pair;
  const auto last = send(pair.alice, 0ms, "last words");
  const Frames goodbye = pair.alice.goodbye().frames;
  BOOST_TEST(!receive(pair.bob, 0ms, goodbye).goodbye);
  const Session::Received got = receive(pair.bob, 1ms, last[0]);
  BOOST_TEST(got.delivered.size() == 1U);
  BOOST_TEST(got.goodbye);
  BOOST_TEST(!receive(pair.bob, 2ms, goodbye).goodbye);
}

BOOST_AUTO_TEST_CASE(close_returns_the_calls_that_were_not_acknowledged_and_whether_they_left) {
  Pair pair{{.out = {.window_messages = 2}}};
  const auto call = [&](std::uint64_t number) {
    return send(pair.alice, 0ms, "m", {.of = Posting::Class::call, .request = RequestId{number}});
  };
  const auto first = call(1);
  (void)call(2);
  (void)call(3);  // held back until the first is acknowledged
  (void)call(4);  // never sent
  (void)send(pair.alice, 0ms, "a word that nobody waits for");
  (void)receive(pair.bob, 0ms, first[0]);
  (void)acknowledge(pair.bob, pair.alice, 0ms);
  std::map<std::uint64_t, bool> left;
  for (const Session::Unacknowledged& open : pair.alice.close()) left[open.request.value] = open.left;
  BOOST_TEST((left == std::map<std::uint64_t, bool>{{2, true}, {3, true}, {4, false}}));
  BOOST_TEST((pair.alice.send(at(0ms), pack(message("late"))).error().code == ErrorCode::shutting_down));
  BOOST_TEST((pair.alice.receive(at(0ms), send(pair.bob, 0ms, "m")[0]).error().code == ErrorCode::shutting_down));
  BOOST_TEST(pair.alice.tick(at(10s)).empty());
  BOOST_TEST(!pair.alice.next_due().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
