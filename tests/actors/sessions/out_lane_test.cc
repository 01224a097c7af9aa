#include "actors/sessions/out_lane.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/sessions/session.h"
#include "tests/actors/sessions/alice_and_bob.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(out_lane_rules)

using namespace std::chrono_literals;
using testing::at;
using testing::kAlice;
using testing::kBob;

Parcel message_of(std::size_t bytes) {
  auto owner = std::make_shared<std::string>(bytes, 'x');
  return pack({Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner},
               Frame{.bytes = std::as_bytes(std::span{*owner}).first(0), .owner = owner}});
}

Parcel large_message_of(std::size_t bytes) {
  auto owner = std::make_shared<std::string>(bytes, 'x');
  return pack({Frame{.bytes = std::as_bytes(std::span{*owner}).first(1), .owner = owner},
               Frame{.bytes = std::as_bytes(std::span{*owner}), .owner = owner}});
}

SessionHeader header_of(const Session::Packet& packet) {
  return decode_session_header(packet.frames.at(0).bytes).value();
}

/// One direction of a connection: packets leave in order, each as long as its bytes take.
class Line {
 public:
  explicit Line(std::size_t bytes_per_second) : bytes_per_second_(bytes_per_second) {}

  void put(TimePoint now, Session::Packets packets) {
    for (Session::Packet& packet : packets) {
      const auto bytes = static_cast<Duration::rep>(size_of(packet.frames));
      free_at_ = std::max(free_at_, now) + Duration(1s) * bytes / static_cast<Duration::rep>(bytes_per_second_);
      on_it_.emplace_back(free_at_, std::move(packet.frames));
    }
  }

  [[nodiscard]] std::optional<TimePoint> next() const {
    return on_it_.empty() ? std::nullopt : std::optional(on_it_.front().first);
  }

  Frames take() {
    Frames packet = std::move(on_it_.front().second);
    on_it_.pop_front();
    return packet;
  }

 private:
  const std::size_t bytes_per_second_;
  TimePoint free_at_ = at(0s);
  std::deque<std::pair<TimePoint, Frames>> on_it_;
};

/// Two sessions over a slow line and a fast one back.
struct SlowPair {
  void send(TimePoint now, Parcel parcel) { there.put(now, alice.send(now, std::move(parcel)).value()); }

  /// Lets time pass until the next event. Returns its time.
  TimePoint step() {
    TimePoint now = TimePoint::max();
    for (const auto& next : {there.next(), back.next(), alice.next_due(), bob.next_due()}) {
      if (next) now = std::min(now, *next);
    }
    if (there.next() == now) back.put(now, take(bob, now, there.take()));
    else if (back.next() == now) there.put(now, take(alice, now, back.take()));
    there.put(now, alice.tick(now));
    back.put(now, bob.tick(now));
    return now;
  }

  Session::Packets take(Session& session, TimePoint now, Frames packet) {
    Session::Received received = session.receive(now, std::move(packet)).value();
    delivered += received.delivered.size();
    return std::move(received.on_link);
  }

  Session alice{kAlice, kBob};
  Session bob{kBob, kAlice};
  Line there{100'000};
  Line back{100'000'000};
  std::size_t delivered = 0;
};

BOOST_AUTO_TEST_CASE(a_message_that_takes_long_on_a_slow_link_is_not_sent_again) {
  SlowPair pair;
  for (TimePoint now = at(0s); now < at(60s); now = pair.step()) {
    if (pair.alice.flushed()) pair.send(now, large_message_of(200 << 10));
  }
  BOOST_TEST(pair.alice.counts().resent == 0U);
  BOOST_TEST(pair.delivered == 29U);  // each takes 2.05 s
}

BOOST_AUTO_TEST_CASE(one_probe_asks_about_all_packets_that_left_before_it) {
  Session alice(kAlice, kBob);
  for (int i = 0; i < 40; ++i) (void)alice.send(at(i * 1ms), message_of(200)).value();
  Session::Packets sent;
  while (*alice.next_due() < at(400ms)) std::ranges::move(alice.tick(*alice.next_due()), std::back_inserter(sent));
  BOOST_REQUIRE_EQUAL(sent.size(), 1U);
  BOOST_TEST((header_of(sent[0]).kind == SessionKind::probe));
}

BOOST_AUTO_TEST_CASE(lost_messages_are_sent_again_though_the_first_probe_is_lost_too,
                     *boost::unit_test::label("fault-F01")) {
  Session alice(kAlice, kBob);
  Session bob(kBob, kAlice);
  for (int i = 0; i < 40; ++i) (void)alice.send(at(0ms), message_of(200)).value();
  BOOST_TEST(alice.tick(at(200ms)).size() == 1U);
  const Session::Packets probe = alice.tick(at(400ms));
  BOOST_REQUIRE_EQUAL(probe.size(), 1U);
  const Session::Packets answer = bob.receive(at(401ms), probe[0].frames).value().on_link;
  BOOST_REQUIRE_EQUAL(answer.size(), 1U);
  const Session::Packets again = alice.receive(at(402ms), answer[0].frames).value().on_link;
  std::size_t delivered = 0;
  for (const Session::Packet& packet : again)
    delivered += bob.receive(at(403ms), packet.frames).value().delivered.size();
  BOOST_TEST(delivered == 40U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
