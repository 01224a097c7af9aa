#include "node/links/pulse_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "node/links/datagram_socket.h"
#include "node/links/handshake.h"
#include "node/links/pulse.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using detail::FileDescriptor;

constexpr Incarnation kBothLives{.high = 1, .low = 2};
constexpr Duration kTick = 20ms;

FileDescriptor duplicate(int file) { return FileDescriptor(file < 0 ? -1 : ::fcntl(file, F_DUPFD_CLOEXEC, 0)); }

PulseKey fresh_key() {
  const handshake::Nonce random = random_nonce();
  return PulseKey(std::span{random}.first<PulseKey::kBytes>());
}

/// Where two nodes of a host send their beats.
enum class Way {
  unix_sockets,
  udp,  ///< pages take another way, once they have met
};

/// Two nodes of a host whose datagrams, and pages, arrive at once, unless `loses` says otherwise.
class Pair {
 public:
  struct Node {
    explicit Node(NodeName n, std::optional<PulsePage> page)
        : name(std::move(n)), pulse(FailureDetectorOptions{}, std::move(page)) {}
    NodeName name;
    Pulse pulse;
    std::size_t sent = 0;
    std::vector<FailureDetector::Event> events;
    bool is_stopped = false;
  };

  explicit Pair(bool a_has_page = true, bool b_has_page = true, Way way = Way::unix_sockets)
      : a("a", page(a_has_page)), b("b", page(b_has_page)), way_(way) {
    connect(a, b);
    connect(b, a);
    a.pulse.watch("b", kBothLives, 10s, now);
    b.pulse.watch("a", kBothLives, 10s, now);
  }

  /// `from` makes a connection, also anew.
  void connect(Node& from, Node& to) {
    const PulseKey key = fresh_key();
    if (sessions_ >= 2) to.pulse.distrust(sessions_ - 2);
    const std::string address = way_ == Way::udp ? "udp://127.0.0.1:7" : "unix://@nowhere";
    from.pulse.aim(to.name, {.address = DatagramSocket::parse(address).value(), .slot = sessions_, .key = key},
                   sessions_);
    to.pulse.trust(sessions_++, from.name, kBothLives, key);
  }
  void connect_anew() {
    connect(a, b);
    connect(b, a);
  }

  /// `from` knows that `to` is on its host.
  void meet(Node& from, Node& to) {
    from.pulse.meet(to.name, [this, &from, &to](int page) {
      ++given;
      if (loses(number_++)) return;
      if (auto mapped = PeerPulsePage::map(passes(page)))
        to.pulse.see(from.name, kBothLives, std::move(mapped).value());
    });
  }
  void meet() {
    meet(a, b);
    meet(b, a);
  }

  void run(Duration duration) {
    for (const TimePoint end = now + duration; now < end; now += kTick) {
      turn(a, b);
      turn(b, a);
    }
  }

  std::size_t sent_in(Duration duration) {
    const std::size_t before = a.sent + b.sent;
    run(duration);
    return a.sent + b.sent - before;
  }

  TimePoint now = TimePoint{1h};
  Node a, b;
  /// Numbers of the beats, and pages that take another way, of both nodes.
  std::function<bool(std::size_t number)> loses = [](std::size_t) { return false; };
  std::size_t given = 0;  ///< pages that took another way
  std::function<FileDescriptor(int file)> passes = duplicate;

 private:
  static std::optional<PulsePage> page(bool has) {
    return has ? std::optional(PulsePage::make().value()) : std::nullopt;
  }

  void turn(Node& from, Node& to) {
    if (from.is_stopped) return;
    Pulse::Due due = from.pulse.tick(now);
    from.events.insert(from.events.end(), due.events.begin(), due.events.end());
    for (const Pulse::GivePage& give : due.gives) give(from.pulse.page());
    for (const Pulse::Outgoing& beat : due.beats) {
      ++from.sent;
      if (loses(number_++)) continue;
      const auto bytes = std::span(beat.bytes).subspan(std::tuple_size_v<PulseMark>);
      if (const auto event = to.pulse.take(bytes, now, passes(beat.file))) to.events.push_back(*event);
    }
  }

  const Way way_;
  std::uint32_t sessions_ = 0;
  std::size_t number_ = 0;
};

BOOST_AUTO_TEST_SUITE(pulse_page)

BOOST_AUTO_TEST_CASE(page_shows_each_heartbeat_and_its_promise_to_readers_that_cannot_write) {
  PulsePage page = PulsePage::make().value();
  const PeerPulsePage reader = PeerPulsePage::map(duplicate(page.descriptor())).value();
  BOOST_TEST(reader.read().count == 0U);
  page.beat(100ms);
  page.beat(1s);
  BOOST_TEST(reader.read().count == 2U);
  BOOST_TEST((reader.read().interval == Duration{1s}));
  page.beat(24h * 365);
  BOOST_TEST((reader.read().interval == Duration{std::chrono::milliseconds{UINT32_MAX}}));
  void* const written =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page.descriptor(), 0);  // as any process may try
  BOOST_TEST(written == MAP_FAILED);
}

BOOST_AUTO_TEST_CASE(nodes_that_read_each_others_pages_send_nothing_and_stay_reachable) {
  Pair pair;
  pair.run(1s);
  BOOST_TEST(pair.sent_in(60s) == 0U);
  BOOST_TEST(pair.a.events.empty());
  BOOST_TEST(pair.b.events.empty());
}

BOOST_AUTO_TEST_CASE(pages_are_agreed_on_whichever_beats_are_lost) {
  constexpr std::size_t kFirst = 10;
  for (std::size_t lost = 0; lost < (1U << kFirst); ++lost) {
    Pair pair;
    pair.loses = [lost](std::size_t number) { return number < kFirst && (lost >> number & 1U) != 0; };
    pair.run(10s);
    BOOST_TEST_CONTEXT("beats that are lost: " << lost) { BOOST_REQUIRE_EQUAL(pair.sent_in(10s), 0U); }
  }
}

BOOST_AUTO_TEST_CASE(one_lost_beat_makes_no_peer_unreachable_while_pages_are_agreed_on) {
  for (std::size_t lost = 0; lost < 12; ++lost) {
    Pair pair;
    pair.loses = [lost](std::size_t number) { return number == lost; };
    pair.run(10s);
    BOOST_TEST_CONTEXT("lost: " << lost) {
      BOOST_TEST(pair.a.events.empty());
      BOOST_TEST(pair.b.events.empty());
    }
  }
}

void check_node_that_stops(Pair& pair) {
  pair.run(1s);
  pair.b.is_stopped = true;
  pair.run(400ms);
  BOOST_REQUIRE_EQUAL(pair.a.events.size(), 1U);
  BOOST_TEST((pair.a.events[0].change == Reach::unreachable));
  pair.b.is_stopped = false;
  pair.run(400ms);
  BOOST_REQUIRE_EQUAL(pair.a.events.size(), 2U);
  BOOST_TEST((pair.a.events[1].change == Reach::reachable));
  BOOST_TEST(pair.b.events.empty());  // it did not listen: it blames nobody
  pair.b.is_stopped = true;
  pair.run(11s);
  BOOST_REQUIRE_EQUAL(pair.a.events.size(), 4U);
  BOOST_TEST((pair.a.events[3].change == Reach::down));
}

BOOST_AUTO_TEST_CASE(node_that_stops_is_unreachable_then_down_and_reachable_if_it_goes_on_before, *label("fault-F13")) {
  Pair pair;
  check_node_that_stops(pair);
  Pair apart(true, true, Way::udp);
  apart.meet();
  check_node_that_stops(apart);
  BOOST_TEST(apart.given == 2U);
}

BOOST_AUTO_TEST_CASE(without_a_page_on_either_side_beats_go_on) {
  for (const auto& [a, b] : {std::pair{true, false}, {false, true}, {false, false}}) {
    Pair pair(a, b);
    pair.run(1s);
    BOOST_TEST(pair.sent_in(10s) >= 180U);
    BOOST_TEST(pair.a.events.empty());
    BOOST_TEST(pair.b.events.empty());
  }
}

BOOST_AUTO_TEST_CASE(page_that_cannot_be_mapped_leaves_beats_and_is_given_seldom, *label("attack")) {
  Pair pair;
  std::size_t given = 0;
  pair.passes = [&](int file) {
    if (file >= 0) ++given;
    return FileDescriptor(::memfd_create("unsealed", MFD_CLOEXEC));  // of no bytes: a read would end the reader
  };
  pair.run(60s);
  BOOST_TEST(pair.sent_in(10s) >= 180U);
  BOOST_TEST(given <= 24U);
  BOOST_TEST(pair.a.events.empty());
}

BOOST_AUTO_TEST_CASE(connection_made_anew_needs_the_page_anew_and_blames_nobody) {
  Pair pair;
  pair.run(1s);
  for (int round = 0; round < 3; ++round) {
    pair.connect(pair.a, pair.b);
    pair.connect(pair.b, pair.a);
    pair.run(2s);
    BOOST_TEST(pair.sent_in(10s) == 0U);
  }
  BOOST_TEST(pair.a.events.empty());
  BOOST_TEST(pair.b.events.empty());
}

BOOST_AUTO_TEST_CASE(page_of_an_ended_session_keeps_nobody_reachable) {
  Pair pair;
  pair.run(1s);
  pair.passes = [](int) { return FileDescriptor(); };  // the new one cannot be received
  pair.connect(pair.a, pair.b);
  pair.connect(pair.b, pair.a);
  pair.run(1s);
  pair.loses = [](std::size_t) { return true; };
  pair.run(1s);
  BOOST_REQUIRE(!pair.a.events.empty());
  BOOST_TEST((pair.a.events[0].change == Reach::unreachable));
}

BOOST_AUTO_TEST_CASE(nodes_over_udp_send_beats_until_they_have_met_on_one_host) {
  Pair pair(true, true, Way::udp);
  pair.run(1s);
  BOOST_TEST(pair.sent_in(10s) >= 180U);
  BOOST_TEST(pair.given == 0U);
  pair.meet(pair.a, pair.b);
  pair.run(1s);
  BOOST_TEST(pair.sent_in(10s) >= 180U);  // one side alone is not enough
  pair.meet(pair.b, pair.a);
  pair.run(1s);
  BOOST_TEST(pair.sent_in(60s) == 0U);
  BOOST_TEST(pair.a.pulse.by_page() == 1U);
  BOOST_TEST(pair.a.events.empty());
  BOOST_TEST(pair.b.events.empty());
}

BOOST_AUTO_TEST_CASE(pages_that_take_another_way_are_agreed_on_whatever_is_lost) {
  constexpr std::size_t kFirst = 10;
  for (std::size_t lost = 0; lost < (1U << kFirst); ++lost) {
    Pair pair(true, true, Way::udp);
    pair.meet();
    pair.loses = [lost](std::size_t number) { return number < kFirst && (lost >> number & 1U) != 0; };
    pair.run(10s);
    BOOST_TEST_CONTEXT("beats and pages that are lost: " << lost) { BOOST_REQUIRE_EQUAL(pair.sent_in(10s), 0U); }
  }
}

// Else it hears nothing until its own next beat is answered.
BOOST_AUTO_TEST_CASE(peer_is_told_that_its_page_is_read_before_beats_end) {
  Pair pair(true, true, Way::udp);
  pair.meet(pair.a, pair.b);
  pair.run(1s);  // b reads a's
  pair.a.pulse.see("b", kBothLives, PeerPulsePage::map(duplicate(pair.b.pulse.page())).value());
  BOOST_TEST(pair.a.pulse.by_page() == 1U);
  const auto beats = pair.a.pulse.tick(pair.now + 1s).beats;
  BOOST_TEST_REQUIRE(beats.size() == 1U);
  BOOST_TEST(decode_beat(std::span(beats[0].bytes).subspan(std::tuple_size_v<PulseMark>)).value().sees);
  BOOST_TEST(pair.a.pulse.tick(pair.now + 2s).beats.empty());
}

// As where a key is replaced: the session of the former key ends, and with it what that vouched for.
BOOST_AUTO_TEST_CASE(beats_begin_again_with_a_new_session_until_pages_were_given_again) {
  Pair pair(true, true, Way::udp);
  pair.meet();
  pair.run(1s);
  for (int round = 0; round < 3; ++round) {
    pair.connect_anew();
    BOOST_TEST(pair.a.pulse.by_page() == 0U);
    pair.run(2s);
    BOOST_TEST(pair.sent_in(10s) == 0U);
  }
  BOOST_TEST(pair.a.events.empty());
  BOOST_TEST(pair.b.events.empty());
  pair.passes = [](int) { return FileDescriptor(); };  // no page comes any more
  pair.connect_anew();
  pair.run(1s);
  BOOST_TEST(pair.sent_in(10s) >= 180U);
  pair.loses = [](std::size_t) { return true; };
  pair.run(1s);
  BOOST_REQUIRE(!pair.a.events.empty());
  BOOST_TEST((pair.a.events[0].change == Reach::unreachable));
}

BOOST_AUTO_TEST_CASE(page_of_another_life_or_of_no_session_is_not_read, *label("fault-F15")) {
  PulsePage page = PulsePage::make().value();
  const PeerPulsePage mapped = PeerPulsePage::map(duplicate(page.descriptor())).value();
  Pair pair(true, true, Way::udp);
  pair.meet(pair.a, pair.b);
  pair.a.pulse.see("b", {.high = 9, .low = 9}, mapped);
  pair.a.pulse.see("c", kBothLives, mapped);
  pair.run(1s);
  BOOST_TEST(pair.a.pulse.by_page() == 0U);
  BOOST_TEST(pair.sent_in(10s) >= 180U);
}

BOOST_AUTO_TEST_CASE(page_is_given_to_no_peer_that_was_forgotten) {
  Pair pair(true, true, Way::udp);
  pair.meet();
  pair.a.pulse.forget("b");
  pair.connect(pair.a, pair.b);
  pair.a.pulse.watch("b", kBothLives, 10s, pair.now);
  pair.run(1s);
  BOOST_TEST(pair.given >= 1U);  // b's
  BOOST_TEST(pair.sent_in(10s) >= 180U);
  pair.meet(pair.a, pair.b);
  pair.run(1s);
  BOOST_TEST(pair.sent_in(10s) == 0U);
}

// It says that it reads pages, and counts in its own as it likes.
BOOST_AUTO_TEST_CASE(page_of_a_liar_hurts_the_liar_only, *label("attack")) {
  Pair pair(true, true, Way::udp);
  pair.meet();
  PulsePage stopped = PulsePage::make().value();  // of b, which it gives away and never counts in
  stopped.beat(24h * 365);
  pair.passes = [&](int page) { return duplicate(page == pair.b.pulse.page() ? stopped.descriptor() : page); };
  pair.run(15s);
  BOOST_REQUIRE_EQUAL(pair.a.events.size(), 2U);
  BOOST_TEST((pair.a.events[0].change == Reach::unreachable));
  BOOST_TEST((pair.a.events[1].change == Reach::down));
}

BOOST_AUTO_TEST_CASE(node_of_many_peers_looks_for_no_beats_of_those_whose_pages_it_reads) {
  constexpr std::size_t kPeers = 150;
  Pulse pulse(FailureDetectorOptions{}, PulsePage::make().value());
  const PulsePage page = PulsePage::make().value();
  const PeerPulsePage mapped = PeerPulsePage::map(duplicate(page.descriptor())).value();
  const TimePoint now{1h};
  for (std::uint32_t slot = 0; slot < kPeers; ++slot) {
    const NodeName peer = "peer" + std::to_string(slot);
    const PulseKey key = fresh_key();
    pulse.trust(slot, peer, kBothLives, key);
    pulse.aim(peer, {.address = DatagramSocket::parse("udp://127.0.0.1:7").value(), .slot = slot, .key = key}, slot);
    pulse.watch(peer, kBothLives, 10s, now);
    if (slot >= 100) pulse.see(peer, kBothLives, mapped);
    const Beat beat{.slot = slot, .number = 1, .said = {1s, 0ms}, .sees = true, .is_seen = true};
    BOOST_TEST(!pulse.take(encode(beat, key), now).has_value());
  }
  BOOST_TEST(pulse.by_page() == 50U);
  BOOST_TEST((pulse.tick(now).next.value() - now > 200ms));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(descriptors_beside_datagrams)

std::size_t open_files() {
  std::size_t count = 0;
  for (int file = 0; file < 1024; ++file) count += ::fcntl(file, F_GETFD) >= 0 ? 1U : 0U;
  return count;
}

BOOST_AUTO_TEST_CASE(descriptor_arrives_with_its_datagram_over_unix_sockets_only) {
  for (const std::string beside : {"ipc://@troupe-descriptor", "tcp://127.0.0.1:0"}) {
    DatagramSocket to = DatagramSocket::open_beside(beside).value();
    const std::string told = beside.starts_with("tcp") ? "tcp://127.0.0.1:1" : beside;
    const auto address = DatagramSocket::parse(to.address_beside(told)).value();
    const FileDescriptor file(::memfd_create("given", MFD_CLOEXEC));
    const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
    DatagramSocket from = DatagramSocket::open_beside("ipc://@troupe-descriptor-from").value();
    from.send(address, bytes);
    if (beside.starts_with("ipc")) from.send(address, bytes, file.get());
    const std::size_t before = open_files();
    {
      DatagramSocket::Batch batch;
      BOOST_REQUIRE_EQUAL(to.receive(batch), beside.starts_with("ipc") ? 2U : 1U);
      BOOST_TEST(!batch[0].file.is_open());
      BOOST_TEST(batch[1].file.is_open() == beside.starts_with("ipc"));
      if (batch[1].file.is_open()) BOOST_TEST((::fcntl(batch[1].file.get(), F_GETFD) & FD_CLOEXEC) != 0);
      BOOST_TEST(open_files() == before + (batch[1].file.is_open() ? 1U : 0U));
    }
    BOOST_TEST(open_files() == before);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
