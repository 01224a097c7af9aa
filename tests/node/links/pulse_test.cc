#include "node/links/pulse.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "node/links/datagram_socket.h"
#include "node/links/handshake.h"
#include "node/links/pulse_thread.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

constexpr Incarnation kLife{.high = 1, .low = 2};
constexpr std::uint32_t kSlot = 17;

TimePoint at(Duration since_start) { return TimePoint{1h} + since_start; }

PulseKey some_key() {
  const handshake::Nonce random = random_nonce();
  return PulseKey(std::span{random}.first<PulseKey::kBytes>());
}

/// A pulse that watches "b" and accepts beats authenticated with `key`, and b's beats.
struct Watching {
  Watching() {
    (void)pulse.tick(at(0ms));
    pulse.trust(kSlot, "b", kLife, key);
    pulse.watch("b", kLife, 10s, at(0ms));
    (void)pulse.tick(at(0ms));
  }

  [[nodiscard]] Beat::Bytes beat(std::uint64_t number) const {
    return encode({.slot = kSlot, .number = number, .said = {100ms, 0ms}}, key);
  }
  /// Returns whether b is still reachable after a second in which `datagram` arrived at every tick.
  [[nodiscard]] bool counts(const Beat::Bytes& datagram) {
    for (Duration t = 100ms; t < 1500ms; t += 100ms) {
      if (const auto event = pulse.take(datagram, at(t))) return event->change == Reach::reachable;
      for (const auto& event : pulse.tick(at(t)).events) {
        if (event.change == Reach::unreachable) return false;
      }
    }
    return true;
  }

  PulseKey key = some_key();
  Pulse pulse{FailureDetectorOptions{}};
};

BOOST_AUTO_TEST_SUITE(pulse)

BOOST_AUTO_TEST_CASE(beat_says_what_it_said_before_it_became_bytes) {
  const PulseKey key = some_key();
  const Beat::Bytes bytes = encode({.slot = 0x01020304, .number = 0x1122334455667788, .said = {630ms, 1200ms}}, key);
  const auto beat = decode_beat(bytes);
  BOOST_TEST_REQUIRE(beat.has_value());
  BOOST_TEST(beat->slot == 0x01020304U);
  BOOST_TEST(beat->number == 0x1122334455667788U);
  BOOST_TEST((beat->said == FailureDetector::Said{630ms, 1200ms}));
  BOOST_TEST(is_proved(bytes, key));
  constexpr std::array<unsigned char, 24> kStart{'T',  'R',  'P',  'B',  4,    3,    2, 1, 0x88, 0x77, 0x66, 0x55,
                                                 0x44, 0x33, 0x22, 0x11, 0x76, 0x02, 0, 0, 0xB0, 0x04, 0,    0};
  BOOST_TEST(
      (std::vector<std::byte>(bytes.begin(), bytes.begin() + 24) ==
       std::vector<std::byte>(std::as_bytes(std::span{kStart}).begin(), std::as_bytes(std::span{kStart}).end())));
}

BOOST_AUTO_TEST_CASE(beat_with_any_changed_byte_is_not_proved) {
  const PulseKey key = some_key();
  const Beat::Bytes good = encode({.slot = 1, .number = 1, .said = {100ms, 0ms}}, key);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Beat::Bytes changed = good;
    changed[i] ^= std::byte{0x10};
    BOOST_TEST_CONTEXT("byte " << i) { BOOST_TEST(!is_proved(changed, key)); }
  }
  BOOST_TEST(!decode_beat(std::span{good}.first(good.size() - 1)).has_value());
}

BOOST_AUTO_TEST_CASE(beats_of_the_session_keep_its_peer_reachable) {
  Watching watching;
  std::uint64_t number = 0;
  for (Duration t = 100ms; t < 15s; t += 100ms) {
    BOOST_TEST(!watching.pulse.take(watching.beat(++number), at(t)).has_value());
    BOOST_TEST(watching.pulse.tick(at(t)).events.empty());
  }
  BOOST_TEST(watching.pulse.refused() == 0U);
}

BOOST_AUTO_TEST_CASE(beats_that_are_not_proved_of_another_slot_or_repeated_keep_nobody_reachable, *label("fault-F41")) {
  {
    Watching forged;
    BOOST_TEST(!forged.counts(encode({.slot = kSlot, .number = 1, .said = {100ms, 0ms}}, some_key())));
    BOOST_TEST(forged.pulse.refused() > 0U);
  }
  {
    Watching elsewhere;
    BOOST_TEST(!elsewhere.counts(encode({.slot = kSlot + 1, .number = 1, .said = {100ms, 0ms}}, elsewhere.key)));
  }
  {
    Watching replayed;
    (void)replayed.pulse.take(replayed.beat(8), at(0ms));
    BOOST_TEST(!replayed.counts(replayed.beat(8)));
  }
  {
    Watching forgotten;
    forgotten.pulse.distrust(kSlot);
    BOOST_TEST(!forgotten.counts(forgotten.beat(1)));
  }
}

BOOST_AUTO_TEST_CASE(beats_of_a_former_life_keep_its_successor_not_reachable, *label("fault-F15")) {
  Watching watching;
  const PulseKey former = some_key();
  watching.pulse.trust(kSlot + 1, "b", {9, 9}, former);
  BOOST_TEST(!watching.counts(encode({.slot = kSlot + 1, .number = 1, .said = {100ms, 0ms}}, former)));
}

BOOST_AUTO_TEST_CASE(beats_go_to_whom_they_are_aimed_at_with_growing_numbers) {
  Pulse sender{FailureDetectorOptions{}};
  const PulseKey key = some_key();
  const auto place = DatagramSocket::parse("udp://127.0.0.1:7").value();
  const PulseMark mark{std::byte{1}, std::byte{2}};
  sender.aim("b", {.address = place, .slot = kSlot, .key = key, .mark = mark}, 7);
  sender.aim("b", {.address = place, .slot = kSlot + 1, .key = some_key()}, 6);  // of an earlier session, reported late
  BOOST_TEST(sender.tick(at(0ms)).beats.empty());                                // not watched
  sender.watch("b", kLife, 10s, at(0ms));
  for (std::uint64_t number = 1; number <= 3; ++number) {
    const auto beats = sender.tick(at(number * 100ms)).beats;
    BOOST_TEST_REQUIRE(beats.size() == 1U);
    const auto beat = std::span(beats[0].bytes).subspan(mark.size());
    BOOST_TEST(std::ranges::equal(std::span(beats[0].bytes).first(mark.size()), mark));
    BOOST_TEST(decode_beat(beat).value().number == number);
    BOOST_TEST(decode_beat(beat).value().slot == kSlot);
    BOOST_TEST(is_proved(beat, key));
  }
  sender.forget("b");
  BOOST_TEST(sender.tick(at(1s)).beats.empty());
}

BOOST_AUTO_TEST_CASE(no_more_than_100_beats_are_expected_between_two_ticks) {
  for (const std::size_t peers : {10U, 100U, 101U, 500U}) {
    Pulse pulse{FailureDetectorOptions{}};
    for (std::size_t i = 0; i < peers; ++i) {
      const std::string peer = "peer" + std::to_string(i);
      pulse.trust(static_cast<std::uint32_t>(i), peer, kLife, some_key());
      pulse.watch(peer, kLife, 10s, at(0ms));
    }
    const auto interval = std::clamp<Duration>(peers * 10ms, 100ms, 1s);
    const Duration asleep = pulse.tick(at(0ms)).next.value() - at(0ms);
    BOOST_TEST_CONTEXT(peers << " peers") { BOOST_TEST((peers * asleep <= 100 * interval)); }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pulse_thread)

// By default a unix socket keeps 11 datagrams and refuses more.
void check_one_that_floods_hides_no_other(const std::string& beside) {
  constexpr std::uint32_t kPeers = 23;
  constexpr FailureDetector::Said kDeaf{100ms, 1h};  // is told when it is heard, with this silence
  const PulseKey key = some_key();
  std::set<NodeName> heard;
  testing::Changes changes;
  PulseThread judge(DatagramSocket::open_beside(beside).value(), {});
  std::vector<SocketAddress> inboxes;
  for (std::uint32_t slot = 0; slot < kPeers; ++slot) {
    const NodeName peer = "peer" + std::to_string(slot);
    PulseThread::Inbox inbox = judge.open_inbox(slot, beside);
    inboxes.push_back(DatagramSocket::parse(inbox.address).value());
    judge.trust(slot, peer, kLife, key, std::move(inbox));
    judge.give([peer](Pulse& pulse, TimePoint now) { pulse.watch(peer, kLife, 1h, now); });
  }
  const auto send = [&](DatagramSocket& from, std::uint32_t slot, std::uint64_t number) {
    std::array<std::byte, std::tuple_size_v<PulseMark> + Beat::kBytes> datagram{};
    std::ranges::copy(encode({.slot = slot, .number = number, .said = kDeaf}, key), datagram.begin() + 8);
    from.send(inboxes[slot], datagram);
  };
  for (std::uint64_t sender = 0; sender < 4; ++sender) {  // each may have some hundred datagrams under way
    DatagramSocket from = DatagramSocket::open_beside("ipc://@troupe-pulse-flood").value();
    for (std::uint64_t number = 1; number <= 300; ++number) send(from, 0, 300 * sender + number);
  }
  DatagramSocket others = DatagramSocket::open_beside("ipc://@troupe-pulse-others").value();
  for (std::uint32_t slot = 1; slot < kPeers; ++slot) send(others, slot, 1);

  const auto tell = [&](const FailureDetector::Event& event) {
    if (event.silence == kDeaf.deaf) changes.change([&] { heard.insert(event.peer); });
  };
  judge.start(tell, [](const Error&) {});
  testing::eventually(
      10s, changes, [&] { return heard.size() == kPeers; },
      [&] { return std::to_string(heard.size()) + " are heard"; });
  judge.stop();
}

BOOST_AUTO_TEST_CASE(full_queue_of_one_peers_beats_hides_those_of_no_other) {
  check_one_that_floods_hides_no_other("ipc://@troupe-pulse-judge");
  const testing::TemporaryDirectory folder;
  check_one_that_floods_hides_no_other("ipc://" + (folder.path() / "judge").string());
}

BOOST_AUTO_TEST_CASE(inbox_is_closed_when_its_session_ends) {
  const testing::TemporaryDirectory folder;
  const std::string beside = "ipc://" + (folder.path() / "judge").string();
  bool obeyed = false;
  testing::Changes changes;
  PulseThread judge(DatagramSocket::open_beside(beside).value(), {});
  const std::string file = (folder.path() / "judge.pulse.17").string();
  judge.trust(kSlot, "b", kLife, some_key(), judge.open_inbox(kSlot, beside));
  BOOST_TEST(std::filesystem::exists(file));
  judge.distrust(kSlot);
  judge.give([&](Pulse&, TimePoint) { changes.change([&] { obeyed = true; }); });
  judge.start([](const auto&) {}, [](const Error&) {});
  testing::eventually(
      10s, changes, [&] { return obeyed; }, [] { return "no order was obeyed"; });
  judge.stop();
  BOOST_TEST(!std::filesystem::exists(file));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(datagram_socket)

void check_datagrams_arrive(const std::string& beside, const std::string& told, const std::string& sent_from) {
  const DatagramSocket to = DatagramSocket::open_beside(beside).value();
  DatagramSocket from = DatagramSocket::open_beside(sent_from).value();
  const auto address = DatagramSocket::look_up(to.address_beside(told));
  BOOST_TEST_REQUIRE(address.has_value());
  std::vector<std::byte> sent(100, std::byte{7});
  from.send(*address, std::span(sent).first(2));
  sent[1] = std::byte{8};
  from.send(*address, sent);
  DatagramSocket::Batch batch;
  BOOST_TEST_REQUIRE(to.receive(batch) == 2U);  // on one machine a datagram has arrived when it was sent
  BOOST_TEST((batch[0].content().size() == 2U && batch[0].content()[1] == std::byte{7}));
  BOOST_TEST((batch[1].content().size() == sizeof(Datagram::bytes) && batch[1].content()[1] == std::byte{8}));
  BOOST_TEST(to.receive(batch) == 0U);
}

BOOST_AUTO_TEST_CASE(datagrams_arrive_over_udp_beside_a_tcp_address) {
  check_datagrams_arrive("tcp://127.0.0.1:0", "tcp://localhost:1", "tcp://127.0.0.1:0");
}

BOOST_AUTO_TEST_CASE(datagrams_arrive_over_unix_sockets_beside_an_ipc_address) {
  check_datagrams_arrive("ipc://@troupe-datagram-to", "ipc://@troupe-datagram-to", "ipc://@troupe-datagram-from");
  const testing::TemporaryDirectory folder;
  const std::string path = (folder.path() / "node").string();
  check_datagrams_arrive("ipc://" + path, "ipc://" + path, "ipc://@troupe-datagram-from");
  BOOST_TEST(!std::filesystem::exists(path + ".pulse"));  // removed with its socket
}

BOOST_AUTO_TEST_CASE(datagrams_that_are_sent_together_arrive_but_those_that_cannot_be_sent) {
  const DatagramSocket udp = DatagramSocket::open_beside("tcp://127.0.0.1:0").value();
  const DatagramSocket unix_socket = DatagramSocket::open_beside("ipc://@troupe-datagram-to").value();
  const SocketAddress to_udp = DatagramSocket::parse(udp.address_beside("tcp://127.0.0.1:1")).value();
  const SocketAddress to_unix = DatagramSocket::parse(unix_socket.address_beside("ipc://@troupe-datagram-to")).value();
  const SocketAddress nowhere = DatagramSocket::parse("udp://255.255.255.255:9").value();  // needs a permission
  std::array<std::byte, 50> numbers{};
  std::vector<DatagramSocket::Letter> letters;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::byte>(i);
    letters.push_back({i % 7 == 0 ? &nowhere : i % 10 == 5 ? &to_unix : &to_udp, std::span(numbers).subspan(i, 1)});
  }
  DatagramSocket from = DatagramSocket::open_beside("tcp://127.0.0.1:0").value();
  from.send_all({});
  from.send_all(letters);
  std::set<std::size_t> arrived;
  for (const DatagramSocket* to : {&udp, &unix_socket}) {
    DatagramSocket::Batch batch;
    while (const std::size_t count = to->receive(batch)) {
      for (const Datagram& datagram : std::span(batch).first(count))
        arrived.insert(static_cast<std::size_t>(datagram.content().front()));
    }
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) BOOST_TEST(arrived.contains(i) == (i % 7 != 0), "number " << i);
}

/// Sends what does not begin with `beginning` to `to`, then what does.
void check_only_the_last_arrives(const DatagramSocket& to, const SocketAddress& address,
                                 const DatagramSocket::Beginning& beginning) {
  DatagramSocket from = DatagramSocket::open_beside("ipc://@troupe-datagram-from").value();
  for (std::size_t changed = 0; changed < beginning.size(); ++changed) {
    DatagramSocket::Beginning other = beginning;
    other[changed] ^= std::byte{1};
    for (int i = 0; i < 200; ++i) {
      from.send(address, other);
      from.send(address, std::span(beginning).first(changed));
    }
  }
  std::vector<std::byte> right(beginning.begin(), beginning.end());
  right.resize(40, std::byte{7});
  from.send(address, right);
  DatagramSocket::Batch batch;
  BOOST_TEST_REQUIRE(to.receive(batch) == 1U);
  BOOST_TEST(std::ranges::equal(batch[0].content(), right));
}

BOOST_AUTO_TEST_CASE(datagrams_that_begin_otherwise_take_no_room, *label("attack") * label("S7") * label("S15")) {
  const DatagramSocket::Beginning beginning{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                            std::byte{5}, std::byte{6}, std::byte{7}, std::byte{0x80}};
  for (const std::string beside : {"tcp://127.0.0.1:0", "ipc://@troupe-datagram-to"}) {
    DatagramSocket node = DatagramSocket::open_beside(beside).value();
    node.admit_only(beginning);
    const std::string told = beside.starts_with("tcp") ? "tcp://127.0.0.1:1" : beside;
    check_only_the_last_arrives(node, DatagramSocket::parse(node.address_beside(told)).value(), beginning);
    if (const auto one = node.open_for_one(1))
      check_only_the_last_arrives(*one, DatagramSocket::parse(one->address_beside(told)).value(), beginning);
  }
}

BOOST_AUTO_TEST_CASE(socket_for_one_has_a_file_beside_the_others_and_next_life_removes_what_a_killed_one_left) {
  const testing::TemporaryDirectory folder;
  const std::string path = (folder.path() / "node").string();
  for (const char* left : {".pulse.17", ".pulse.x", ".other.17"}) std::ofstream(path + left) << "left";
  const DatagramSocket node = DatagramSocket::open_beside("ipc://" + path).value();
  BOOST_TEST(!std::filesystem::exists(path + ".pulse.17"));
  BOOST_TEST(std::filesystem::exists(path + ".pulse.x"));
  BOOST_TEST(std::filesystem::exists(path + ".other.17"));
  {
    const DatagramSocket one = node.open_for_one(3).value();
    BOOST_TEST(one.address_beside("ipc://" + path) == "unix://" + path + ".pulse.3");
    BOOST_TEST(std::filesystem::exists(path + ".pulse.3"));
  }
  BOOST_TEST(!std::filesystem::exists(path + ".pulse.3"));
  BOOST_TEST(!DatagramSocket::open_beside("tcp://127.0.0.1:0").value().open_for_one(3).has_value());
}

BOOST_AUTO_TEST_CASE(name_or_path_that_is_as_long_as_can_be_has_a_socket_beside_it) {
  const std::string name = "ipc://@" + std::string(106, 'x');
  check_datagrams_arrive(name, name, "ipc://@troupe-datagram-from");
  const std::string path = "ipc:///tmp/" + std::string(102, 'x');
  check_datagrams_arrive(path, path, "ipc://@troupe-datagram-from");
}

BOOST_AUTO_TEST_CASE(datagrams_arrive_from_sockets_of_other_kinds) {
  check_datagrams_arrive("tcp://127.0.0.1:0", "tcp://127.0.0.1:1", "ipc://@troupe-datagram-from");
  check_datagrams_arrive("ipc://@troupe-datagram-to", "ipc://@troupe-datagram-to", "tcp://127.0.0.1:0");
}

BOOST_AUTO_TEST_CASE(udp_port_has_the_number_of_the_tcp_port_unless_it_is_taken) {
  const DatagramSocket any = DatagramSocket::open_beside("tcp://127.0.0.1:0").value();
  const std::string address = any.address_beside("tcp://127.0.0.1:9");
  BOOST_TEST(address.starts_with("udp://127.0.0.1:"));
  const std::string taken = "tcp" + address.substr(3);
  const DatagramSocket other = DatagramSocket::open_beside(taken).value();
  BOOST_TEST(other.address_beside("tcp://127.0.0.1:9") != address);
}

BOOST_AUTO_TEST_CASE(what_is_sent_where_nobody_listens_is_dropped) {
  DatagramSocket socket = DatagramSocket::open_beside("tcp://127.0.0.1:0").value();
  const std::string gone = DatagramSocket::open_beside("tcp://127.0.0.1:0").value().address_beside("tcp://127.0.0.1:9");
  const std::array<std::byte, 1> byte{};
  DatagramSocket::Batch batch;
  for (int i = 0; i < 3; ++i) {
    socket.send(DatagramSocket::parse(gone).value(), byte);
    BOOST_TEST(socket.receive(batch) == 0U);
  }
}

BOOST_AUTO_TEST_CASE(only_a_look_up_takes_the_name_of_a_host) {
  BOOST_TEST(!DatagramSocket::parse("udp://localhost:9").has_value());
  BOOST_TEST(DatagramSocket::look_up("udp://localhost:9").has_value());
  BOOST_TEST(DatagramSocket::look_up("udp://127.0.0.1:9").has_value());
  BOOST_TEST(DatagramSocket::look_up("unix://@anything").has_value());
}

BOOST_AUTO_TEST_CASE(other_texts_are_no_addresses) {
  for (const std::string text : {"", "tcp://127.0.0.1:9", "udp://127.0.0.1", "udp://127.0.0.1:x", "unix://"}) {
    BOOST_TEST(!DatagramSocket::parse(text).has_value());
  }
}

BOOST_AUTO_TEST_CASE(addresses_of_this_machine_are_told_from_others) {
  for (const std::string here : {"tcp://127.0.0.1:9", "tcp://localhost:9", "ipc://@anything"}) {
    BOOST_TEST((is_of_this_host(here, HostNames::look_up) == true));
  }
  BOOST_TEST((is_of_this_host("tcp://192.0.2.1:9") == false));  // reserved for documentation
  BOOST_TEST(!is_of_this_host("tcp://localhost:9").has_value());
}

BOOST_AUTO_TEST_CASE(socket_beside_a_link_takes_another_port_of_the_range_if_the_same_one_is_in_use) {
  const auto port_of = [](const DatagramSocket& socket) {
    const std::string address = socket.address_beside("tcp://127.0.0.1:1");
    return std::stoi(address.substr(address.rfind(':') + 1));
  };
  const DatagramSocket in_use = DatagramSocket::open_beside("tcp://127.0.0.1:0").value();
  const auto low = static_cast<std::uint16_t>(port_of(in_use));
  const std::string beside = "tcp://127.0.0.1:" + std::to_string(low);
  const auto high = static_cast<std::uint16_t>(std::min(low + 9, 65'535));
  const auto other = DatagramSocket::open_beside(beside, PortRange{low, high});
  BOOST_REQUIRE(other.ok());
  BOOST_TEST(port_of(other.value()) > low);
  BOOST_TEST(port_of(other.value()) <= high);
  const auto none = DatagramSocket::open_beside(beside, PortRange{low, low});
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST((none.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(none.error().message.find("no udp port of") != std::string::npos, none.error().message);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
