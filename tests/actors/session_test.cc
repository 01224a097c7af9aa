#include "actors/session.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kAlice{.high = 0xA, .low = 1};
constexpr Incarnation kBob{.high = 0xB, .low = 2};
constexpr Incarnation kMallory{.high = 0xC, .low = 3};

TimePoint at(Duration since_start) { return TimePoint{1h} + since_start; }

Frame frame(std::string_view text) {
  auto owner = std::make_shared<std::string>(text);
  return Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner};
}

std::string text(const Frame& of) { return {reinterpret_cast<const char*>(of.bytes.data()), of.bytes.size()}; }

Frames message(std::string_view body) { return Frames{frame(body)}; }

SessionHeader header_of(const Frames& frames) { return decode_session_header(frames.at(0).bytes).value(); }

/// Sends one message that must be accepted and returns what goes on the link.
std::vector<Frames> send(Session& session, Duration t, std::string_view body) {
  return session.send(at(t), message(body)).value().on_link;
}

Session::Received receive(Session& session, Duration t, const Frames& frames) {
  return session.receive(at(t), frames).value();
}

ErrorCode refused(Session& session, const Frames& frames) { return session.receive(at(0ms), frames).error().code; }

struct Pair {
  explicit Pair(SessionOptions options = {}) : alice(kAlice, kBob, options), bob(kBob, kAlice, options) {}
  Session alice;
  Session bob;
};

BOOST_AUTO_TEST_SUITE(session_rules)

BOOST_AUTO_TEST_CASE(header_has_the_documented_bytes) {
  const Frame encoded = encode({.kind = SessionKind::data,
                                .from = {.high = 0x0102030405060708, .low = 0x1112131415161718},
                                .to = {.high = 0x2122232425262728, .low = 0x3132333435363738},
                                .number = 0x41,
                                .ack = 0x42,
                                .ahead = 0x8000000000000001});
  const std::vector<unsigned char> expected{
      'T',  'R',  'P',  'S',  1,    1,    0,    0,                                                       //
      0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,  //
      0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,  //
      0x41, 0,    0,    0,    0,    0,    0,    0,    0x42, 0,    0,    0,    0,    0,    0,    0,     //
      1,    0,    0,    0,    0,    0,    0,    0x80};
  BOOST_REQUIRE_EQUAL(encoded.bytes.size(), SessionHeader::kBytes);
  BOOST_TEST(std::memcmp(encoded.bytes.data(), expected.data(), expected.size()) == 0);
}

BOOST_AUTO_TEST_CASE(message_arrives_once_with_its_frames) {
  Pair pair;
  const auto sent = pair.alice.send(at(0ms), {frame("one"), frame(""), frame("three")}).value();
  BOOST_TEST(sent.number == 1U);
  BOOST_REQUIRE_EQUAL(sent.on_link.size(), 1U);
  const Session::Received got = receive(pair.bob, 1ms, sent.on_link[0]);
  BOOST_REQUIRE_EQUAL(got.delivered.size(), 1U);
  BOOST_REQUIRE_EQUAL(got.delivered[0].size(), 3U);
  BOOST_TEST(text(got.delivered[0][0]) == "one");
  BOOST_TEST(text(got.delivered[0][1]).empty());
  BOOST_TEST(text(got.delivered[0][2]) == "three");
}

BOOST_AUTO_TEST_CASE(body_is_not_copied) {
  Pair pair;
  Frames body = message("tensor");
  const std::byte* bytes = body[0].bytes.data();
  const auto on_link = pair.alice.send(at(0ms), std::move(body)).value().on_link;
  BOOST_TEST(on_link[0][1].bytes.data() == bytes);
  BOOST_TEST(receive(pair.bob, 0ms, on_link[0]).delivered[0][0].bytes.data() == bytes);
}

BOOST_AUTO_TEST_CASE(acknowledgement_waits_20_ms_for_a_message_to_ride_on) {
  Pair pair;
  const auto question = send(pair.alice, 0ms, "question");
  BOOST_TEST(receive(pair.bob, 1ms, question[0]).on_link.empty());
  BOOST_TEST((pair.bob.next_due() == at(21ms)));
  const auto answer = send(pair.bob, 2ms, "answer");
  BOOST_TEST(!pair.bob.tick(at(30ms)).on_link.size());
  (void)receive(pair.alice, 3ms, answer[0]);
  BOOST_TEST(pair.alice.pending_messages() == 0U);
}

BOOST_AUTO_TEST_CASE(acknowledgement_goes_alone_after_20_ms) {
  Pair pair;
  (void)receive(pair.bob, 1ms, send(pair.alice, 0ms, "m")[0]);
  BOOST_TEST(pair.bob.tick(at(20ms)).on_link.empty());
  const Session::Due due = pair.bob.tick(at(21ms));
  BOOST_REQUIRE_EQUAL(due.on_link.size(), 1U);
  BOOST_TEST((header_of(due.on_link[0]).kind == SessionKind::ack));
  BOOST_TEST(!due.next.has_value());
  (void)receive(pair.alice, 22ms, due.on_link[0]);
  BOOST_TEST(pair.alice.pending_messages() == 0U);
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
  Frames on_link = pair.alice.send(at(0ms), std::move(body)).value().on_link[0];
  (void)receive(pair.bob, 0ms, on_link);
  on_link.clear();
  BOOST_TEST(!held.expired());
  (void)receive(pair.alice, 1ms, pair.bob.heartbeat(100ms));
  BOOST_TEST(held.expired());
  BOOST_TEST(pair.alice.pending_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(lost_message_is_sent_again_after_200_ms_then_with_growing_gaps_up_to_2_s,
                     *boost::unit_test::label("fault-F01")) {
  Pair pair;
  (void)send(pair.alice, 0ms, "lost");
  std::vector<Duration> resent;
  for (TimePoint now = *pair.alice.next_due(); resent.size() < 9;) {
    const Session::Due due = pair.alice.tick(now);
    BOOST_REQUIRE_EQUAL(due.on_link.size(), 1U);
    resent.push_back(now - at(0ms));
    now = *due.next;
  }
  // Gaps 200, 300, 450, 675, 1012.5, 1518.75, then 2000 for ever.
  const std::vector<Duration> expected{200ms,         500ms,         950ms,         1625ms,       2637500us,
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
  BOOST_TEST(pair.bob.reordering_messages() == 2U);
  const Session::Received got = receive(pair.bob, 0ms, first[0]);
  BOOST_REQUIRE_EQUAL(got.delivered.size(), 3U);
  BOOST_TEST(text(got.delivered[0][0]) == "first");
  BOOST_TEST(text(got.delivered[1][0]) == "second");
  BOOST_TEST(text(got.delivered[2][0]) == "third");
  BOOST_TEST(pair.bob.reordering_messages() == 0U);
}

BOOST_AUTO_TEST_CASE(only_the_missing_message_is_sent_again) {
  Pair pair;
  for (int i = 1; i <= 5; ++i) {
    const auto on_link = send(pair.alice, 0ms, std::to_string(i));
    if (i == 1 || i == 3) continue;  // lost
    for (const Frames& ack : receive(pair.bob, 1ms, on_link[0]).on_link) (void)receive(pair.alice, 2ms, ack);
  }
  (void)receive(pair.alice, 3ms, pair.bob.heartbeat(100ms));
  const Session::Due due = pair.alice.tick(at(200ms));
  BOOST_REQUIRE_EQUAL(due.on_link.size(), 2U);
  BOOST_TEST(header_of(due.on_link[0]).number == 1U);
  BOOST_TEST(header_of(due.on_link[1]).number == 3U);
}

BOOST_AUTO_TEST_CASE(window_holds_messages_back_until_acknowledged) {
  Pair pair{{.window_messages = 2}};
  const auto one = send(pair.alice, 0ms, "1");
  const auto two = send(pair.alice, 0ms, "2");
  BOOST_TEST(send(pair.alice, 0ms, "3").empty());
  (void)receive(pair.bob, 0ms, one[0]);
  (void)receive(pair.bob, 0ms, two[0]);
  const Session::Received got = receive(pair.alice, 1ms, pair.bob.heartbeat(100ms));
  BOOST_REQUIRE_EQUAL(got.on_link.size(), 1U);
  BOOST_TEST(text(got.on_link[0][1]) == "3");
}

BOOST_AUTO_TEST_CASE(full_queue_refuses_with_resource_exhausted, *boost::unit_test::label("fault-F06")) {
  Session alice(kAlice, kBob, {.queue_bytes_max = 1000});
  (void)send(alice, 0ms, std::string(600, 'x'));  // 672 with its header
  const auto refused_send = alice.send(at(0ms), message(std::string(300, 'x')));
  BOOST_REQUIRE(!refused_send.ok());
  BOOST_TEST((refused_send.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(refused_send.error().message == "the queue to the peer is full: 672 bytes wait, 372 more exceed 1000");
  BOOST_TEST(alice.pending_messages() == 1U);
  BOOST_TEST(alice.send(at(0ms), message(std::string(300, 'x')), Session::Admission::always).ok());
}

BOOST_AUTO_TEST_CASE(empty_queue_takes_a_message_above_its_limit) {
  Session alice(kAlice, kBob, {.queue_bytes_max = 1000});
  BOOST_TEST(alice.send(at(0ms), message(std::string(5000, 'x'))).ok());
  BOOST_TEST(!alice.send(at(0ms), message("")).ok());
}

BOOST_AUTO_TEST_CASE(with_much_in_flight_the_peer_is_asked_before_anything_is_resent) {
  Pair pair;
  const auto big = send(pair.alice, 0ms, std::string(1 << 20, 'x'));
  const Session::Due due = pair.alice.tick(at(200ms));
  BOOST_REQUIRE_EQUAL(due.on_link.size(), 1U);
  BOOST_TEST((header_of(due.on_link[0]).kind == SessionKind::probe));
  BOOST_TEST(due.on_link[0].size() == 2U);  // a second frame keeps it behind the data
  BOOST_TEST((due.next == at(400ms)));

  // The message was only slow: it arrives before the probe, whose answer then says so.
  (void)receive(pair.bob, 300ms, big[0]);
  const Session::Received answer = receive(pair.bob, 300ms, due.on_link[0]);
  BOOST_REQUIRE_EQUAL(answer.on_link.size(), 1U);
  BOOST_TEST(receive(pair.alice, 301ms, answer.on_link[0]).on_link.empty());
  BOOST_TEST(pair.alice.counts().resent == 0U);
  BOOST_TEST(pair.alice.pending_messages() == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_probe_overtook_was_lost_and_is_resent_once, *boost::unit_test::label("fault-F05")) {
  Pair pair;
  (void)send(pair.alice, 0ms, std::string(1 << 20, 'x'));  // lost
  const Frames first_probe = pair.alice.tick(at(200ms)).on_link[0];
  const Frames second_probe = pair.alice.tick(at(400ms)).on_link[0];
  const Frames first_answer = receive(pair.bob, 410ms, first_probe).on_link[0];
  const Frames second_answer = receive(pair.bob, 410ms, second_probe).on_link[0];
  const Session::Received resend = receive(pair.alice, 420ms, first_answer);
  BOOST_REQUIRE_EQUAL(resend.on_link.size(), 1U);
  // It left again after the second probe, whose answer therefore says nothing about it.
  BOOST_TEST(receive(pair.alice, 421ms, second_answer).on_link.empty());
  BOOST_TEST(receive(pair.bob, 430ms, resend.on_link[0]).delivered.size() == 1U);
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

BOOST_AUTO_TEST_CASE(every_flipped_bit_of_a_header_is_refused_and_changes_nothing, *boost::unit_test::label("fault-F11")) {
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
  Frames long_ack = forged({.kind = SessionKind::ack});
  long_ack.push_back(frame("x"));
  BOOST_TEST((refused(pair.bob, long_ack) == ErrorCode::protocol_violation));
  BOOST_TEST(pair.bob.pending_messages() == 1U);
  // Bits about messages that were never sent mean nothing; a number far ahead is not kept.
  (void)receive(pair.bob, 0ms, forged({.kind = SessionKind::ack, .ahead = ~0ULL}));
  (void)receive(pair.bob, 0ms, forged({.kind = SessionKind::data, .number = ~0ULL}));
  BOOST_TEST(pair.bob.reordering_messages() == 0U);
  BOOST_TEST(pair.bob.counts().overflow == 1U);
}

BOOST_AUTO_TEST_CASE(reorder_buffer_holds_no_more_bytes_than_the_queue) {
  Pair pair{{.queue_bytes_max = 1000}};
  std::vector<Frames> on_link;
  for (int i = 0; i < 4; ++i) {
    on_link.push_back(
        pair.alice.send(at(0ms), message(std::string(600, 'x')), Session::Admission::always).value().on_link[0]);
  }
  for (std::size_t i = 1; i < 4; ++i) (void)receive(pair.bob, 0ms, on_link[i]);
  BOOST_TEST(pair.bob.reordering_messages() == 1U);
  BOOST_TEST(pair.bob.counts().overflow == 2U);
}

BOOST_AUTO_TEST_CASE(duplicate_of_an_early_message_takes_no_room) {
  Pair pair{{.queue_bytes_max = 1000}};
  (void)send(pair.alice, 0ms, "lost");
  const auto early = send(pair.alice, 0ms, std::string(600, 'x'));
  const auto small = send(pair.alice, 0ms, std::string(100, 'x'));
  (void)receive(pair.bob, 0ms, early[0]);
  (void)receive(pair.bob, 0ms, early[0]);
  (void)receive(pair.bob, 0ms, small[0]);
  BOOST_TEST(pair.bob.counts().duplicates == 1U);
  BOOST_TEST(pair.bob.counts().overflow == 0U);
  BOOST_TEST(pair.bob.reordering_messages() == 2U);
}

BOOST_AUTO_TEST_CASE(goodbye_is_told_once_after_everything_sent_before_it) {
  Pair pair;
  const auto last = send(pair.alice, 0ms, "last words");
  const Frames goodbye = pair.alice.goodbye();
  BOOST_TEST(!receive(pair.bob, 0ms, goodbye).goodbye);
  const Session::Received got = receive(pair.bob, 1ms, last[0]);
  BOOST_TEST(got.delivered.size() == 1U);
  BOOST_TEST(got.goodbye);
  BOOST_TEST(!receive(pair.bob, 2ms, goodbye).goodbye);
}

BOOST_AUTO_TEST_CASE(close_returns_what_was_not_acknowledged_and_whether_it_left) {
  Pair pair{{.window_messages = 2}};
  const auto first = send(pair.alice, 0ms, "acknowledged");
  (void)send(pair.alice, 0ms, "left");
  (void)send(pair.alice, 0ms, "kept back");
  (void)send(pair.alice, 0ms, "never left");
  (void)receive(pair.bob, 0ms, first[0]);
  (void)receive(pair.alice, 0ms, pair.bob.heartbeat(100ms));
  const std::vector<Session::Unacknowledged> open = pair.alice.close();
  BOOST_REQUIRE_EQUAL(open.size(), 3U);
  BOOST_TEST(open[0].number == 2U);
  BOOST_TEST(text(open[0].body[0]) == "left");
  BOOST_TEST((open[0].left && open[1].left && !open[2].left));
  BOOST_TEST((pair.alice.send(at(0ms), message("late")).error().code == ErrorCode::shutting_down));
  BOOST_TEST((pair.alice.receive(at(0ms), pair.bob.heartbeat(100ms)).error().code == ErrorCode::shutting_down));
  BOOST_TEST(!pair.alice.tick(at(10s)).next.has_value());
  BOOST_TEST(pair.alice.pending_bytes() == 0U);
}

/// Two sessions over a link that loses, repeats and reorders; time jumps from event to event.
class LossyWorld {
 public:
  explicit LossyWorld(unsigned seed)
      : random_(seed), loss_(std::uniform_real_distribution<>(0, 0.3)(random_)), pair_(options(random_)) {}

  void run() {
    constexpr int kMessages = 300;
    for (int i = 0; i < kMessages; ++i) {
      const std::size_t size = random_() % 8 == 0 ? 3000 : random_() % 40;
      const std::string body = std::to_string(i) + ":" + std::string(size, 'x');
      put(pair_.alice.send(now_, message("a" + body), Session::Admission::always).value().on_link, to_bob_);
      put(pair_.bob.send(now_, message("b" + body), Session::Admission::always).value().on_link, to_alice_);
      sent_.push_back(body);
      for (unsigned steps = random_() % 4; steps > 0; --steps) step();
    }
    for (int steps = 0; steps < 200'000 && !done(); ++steps) step();
    BOOST_TEST(done());
    check(at_bob_, "a");
    check(at_alice_, "b");
  }

 private:
  static SessionOptions options(std::mt19937& random) {
    SessionOptions options;
    options.window_messages = 1 + random() % 200;
    options.resend_bytes_max = random() % 2 == 0 ? 1000 : 1 << 20;
    options.ack_messages = 1 + random() % 40;
    return options;
  }

  bool done() const { return pair_.alice.pending_messages() == 0 && pair_.bob.pending_messages() == 0; }

  void check(const std::vector<std::string>& got, const std::string& prefix) {
    BOOST_REQUIRE_EQUAL(got.size(), sent_.size());
    for (std::size_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i] == prefix + sent_[i]);
  }

  void put(const std::vector<Frames>& on_link, std::deque<Frames>& lane) {
    for (const Frames& frames : on_link) {
      if (chance() < loss_) continue;
      for (int copies = chance() < 0.2 ? 2 : 1; copies > 0; --copies) {
        const auto back = chance() < 0.3 ? random_() % (lane.size() + 1) : 0;
        lane.insert(lane.end() - static_cast<std::ptrdiff_t>(back), frames);
      }
    }
  }

  void step() {
    if (!to_bob_.empty() && random_() % 2 == 0) return arrive(to_bob_, pair_.bob, at_bob_, to_alice_);
    if (!to_alice_.empty()) return arrive(to_alice_, pair_.alice, at_alice_, to_bob_);
    now_ += 10ms;
    put(pair_.alice.tick(now_).on_link, to_bob_);
    put(pair_.bob.tick(now_).on_link, to_alice_);
  }

  void arrive(std::deque<Frames>& lane, Session& session, std::vector<std::string>& got, std::deque<Frames>& back) {
    Session::Received received = session.receive(now_, lane.front()).value();
    lane.pop_front();
    for (const Frames& body : received.delivered) got.push_back(text(body.at(0)));
    put(received.on_link, back);
  }

  double chance() { return std::uniform_real_distribution<>(0, 1)(random_); }

  std::mt19937 random_;
  double loss_;
  Pair pair_;
  TimePoint now_ = at(0ms);
  std::deque<Frames> to_alice_, to_bob_;
  std::vector<std::string> at_alice_, at_bob_, sent_;
};

BOOST_AUTO_TEST_CASE(every_message_arrives_once_and_in_order_over_a_link_that_loses_repeats_and_reorders) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) { LossyWorld(seed).run(); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
