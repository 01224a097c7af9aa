// Properties of rings and doorbells: packets arrive whole, in order and once; a liar harms nobody but itself; no bell
// is missed.
#include "node/links/shared_memory/ring.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/out_ring.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {
namespace {

using detail::Doorbell;
using detail::OutRing;
using detail::RingReader;
using detail::RingWriter;
using detail::Segment;
using namespace std::chrono_literals;

Segment ring_segment() { return detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value(); }

/// The two ends of a ring, in mappings of their own as two processes have them.
struct Ends {
  Segment segment = ring_segment();
  std::shared_ptr<const detail::Mapping> other =
      detail::map_segment(segment.file, detail::kRingSegmentBytes, detail::Writers::all).value();
  RingWriter writer{segment.memory};
  RingReader reader{other};

  template <class T>
  void poke(std::size_t at, T value) {
    std::memcpy(segment.memory->bytes().data() + at, &value, sizeof value);
  }
};

Frame bytes_of(std::size_t size, std::mt19937_64& random) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return make_frame(std::move(bytes));
}

Frames packet_of(std::mt19937_64& random) {
  Frames packet;
  const std::size_t frames = random() % 6;
  for (std::size_t i = 0; i < frames; ++i)
    packet.push_back(bytes_of(random() % (random() % 8 == 0 ? 9'000 : 90), random));
  return packet;
}

bool same(const Frames& a, const Frames& b) {
  return std::ranges::equal(a, b, [](const Frame& x, const Frame& y) { return std::ranges::equal(x.bytes, y.bytes); });
}

constexpr std::size_t kTail = 0;
constexpr std::size_t kHead = 64;
constexpr std::size_t kBytes = 4096;

BOOST_AUTO_TEST_SUITE(ring)

BOOST_AUTO_TEST_CASE(packets_arrive_whole_and_in_order) {
  Ends ends;
  std::mt19937_64 random(1);
  std::vector<Frames> under_way;
  std::size_t taken = 0;
  std::size_t refused = 0;
  while (taken < 20'000) {
    if (random() % 2 == 0) {
      Frames packet = packet_of(random);
      const auto put = ends.writer.put(packet, 0);
      BOOST_REQUIRE(put != RingWriter::Put::broken);
      if (put == RingWriter::Put::done) under_way.push_back(std::move(packet));
      refused += put == RingWriter::Put::no_room ? 1 : 0;
      continue;
    }
    Frames packet;
    const auto took = ends.reader.take(packet, 0);
    BOOST_REQUIRE(took == (under_way.empty() ? RingReader::Took::nothing : RingReader::Took::packet));
    if (took == RingReader::Took::nothing) {
      BOOST_REQUIRE(ends.writer.is_empty());
      continue;
    }
    BOOST_REQUIRE(same(packet, under_way.front()));
    under_way.erase(under_way.begin());
    ++taken;
  }
  BOOST_TEST(refused > 0U);  // it was full at times
}

BOOST_AUTO_TEST_CASE(a_full_ring_takes_nothing_of_a_packet_until_there_is_room_for_all) {
  Ends ends;
  std::mt19937_64 random(2);
  const Frames packet{bytes_of(10'000, random), bytes_of(3, random)};
  std::size_t put = 0;
  while (ends.writer.put(packet, 0) == RingWriter::Put::done) ++put;
  BOOST_TEST(put == detail::kRingBytes / 10'032);
  Frames taken;
  BOOST_TEST((ends.reader.take(taken, 0) == RingReader::Took::packet));
  BOOST_TEST((ends.writer.put(packet, 0) == RingWriter::Put::done));
  BOOST_TEST((ends.writer.put(packet, 0) == RingWriter::Put::no_room));
  for (std::size_t i = 0; i < put; ++i) {
    BOOST_REQUIRE(ends.reader.take(taken, 0) == RingReader::Took::packet);
    BOOST_REQUIRE(same(taken, packet));
  }
  BOOST_TEST((ends.reader.take(taken, 0) == RingReader::Took::nothing));
}

BOOST_AUTO_TEST_CASE(the_largest_packet_fits_and_a_larger_one_never_does) {
  Ends ends;
  std::mt19937_64 random(3);
  const std::size_t most = detail::kRingPacketMax - 20;  // its head, the size of one frame
  BOOST_TEST((ends.writer.put({bytes_of(most + 1, random)}, 0) == RingWriter::Put::no_room));
  const Frames largest{bytes_of(most, random)};
  BOOST_TEST((ends.writer.put(largest, 0) == RingWriter::Put::done));
  Frames taken;
  BOOST_TEST((ends.reader.take(taken, 0) == RingReader::Took::packet));
  BOOST_TEST(same(taken, largest));
  BOOST_TEST((ends.writer.put({}, 0) == RingWriter::Put::done));
  BOOST_TEST((ends.reader.take(taken, 0) == RingReader::Took::packet));
  BOOST_TEST(taken.empty());
}

BOOST_AUTO_TEST_CASE(a_reader_believes_nothing_that_cannot_be) {
  const auto broken = [](auto change) {
    Ends ends;
    std::mt19937_64 random(4);
    BOOST_REQUIRE(ends.writer.put({bytes_of(40, random), bytes_of(40, random)}, 0) == RingWriter::Put::done);
    change(ends);
    Frames taken;
    return ends.reader.take(taken, 0) == RingReader::Took::broken;
  };
  BOOST_TEST(!broken([](Ends&) {}));
  BOOST_TEST(broken([](Ends& e) { e.poke(kTail, std::uint64_t{detail::kRingBytes + 8}); }));
  BOOST_TEST(broken([](Ends& e) { e.poke(kTail, ~std::uint64_t{7}); }));        // behind the reader
  BOOST_TEST(broken([](Ends& e) { e.poke(kTail, std::uint64_t{103}); }));       // within a unit
  BOOST_TEST(broken([](Ends& e) { e.poke(kTail, std::uint64_t{96}); }));        // less than the packet
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes, std::uint32_t{15}); }));       // less than its head
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes, ~std::uint32_t{0}); }));       // more than there can be
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes + 4, ~std::uint32_t{0}); }));   // frames
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes + 4, std::uint32_t{1}); }));    // bytes that belong to no frame
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes + 16, std::uint32_t{81}); }));  // a frame beyond the packet
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes + 12, std::uint32_t{1}); }));   // what is zero
  BOOST_TEST(broken([](Ends& e) { e.poke(kBytes + 20, ~std::uint32_t{0}); }));
}

BOOST_AUTO_TEST_CASE(a_packet_of_a_later_run_waits_and_those_before_it_do_not) {
  Ends ends;
  Frames taken;
  BOOST_TEST((ends.writer.put({frame_of("first")}, 1) == RingWriter::Put::done));
  BOOST_TEST((ends.writer.put({frame_of("second")}, 2) == RingWriter::Put::done));
  BOOST_TEST((ends.reader.take(taken, 0) == RingReader::Took::later));
  BOOST_TEST((ends.reader.take(taken, 1) == RingReader::Took::packet));
  BOOST_TEST(text_of(taken.at(0)) == "first");
  BOOST_TEST((ends.reader.take(taken, 1) == RingReader::Took::later));
  BOOST_TEST(ends.reader.found_run() == 2U);
  BOOST_TEST((ends.reader.take(taken, 2) == RingReader::Took::packet));
  BOOST_TEST(text_of(taken.at(0)) == "second");
}

BOOST_AUTO_TEST_CASE(random_bytes_never_lead_out_of_the_ring) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3'000; ++round) {
    Ends ends;
    for (std::size_t at = 0; at < 256; at += 4) {
      const auto small = static_cast<std::uint32_t>(random() % 64);
      ends.poke(kBytes + at, random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : small);
    }
    ends.poke(kTail, random() % (2 * detail::kRingBytes) / 8 * 8);
    Frames taken;
    for (int i = 0; i < 10; ++i) {
      const auto took = ends.reader.take(taken, 0);
      if (took != RingReader::Took::packet) break;
      std::size_t bytes = 0;
      for (const Frame& frame : taken) bytes += frame.bytes.size();
      BOOST_REQUIRE(bytes <= detail::kRingPacketMax);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_writer_believes_no_impossible_position_of_the_reader) {
  for (const std::uint64_t lie : {std::uint64_t{8}, std::uint64_t{1} << 40}) {
    Ends ends;
    ends.poke(kHead, lie);
    BOOST_TEST((ends.writer.put({}, 0) == RingWriter::Put::broken));
  }
}

BOOST_AUTO_TEST_CASE(no_bell_is_missed) {
  using detail::Berth;
  const Doorbell here = Doorbell::make().value();
  const Doorbell there = Doorbell::map(detail::FileDescriptor(::dup(here.descriptor()))).value();
  constexpr std::uint64_t kRounds = 20'000;
  std::atomic<std::uint64_t> rung = 0;
  std::atomic<std::uint64_t> heard = 0;
  std::thread ringer([&] {
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      rung = i;
      there.ring(static_cast<std::uint32_t>(i % detail::kBellsMax));
      while (heard < i) std::this_thread::yield();
    }
  });
  std::uint64_t timeouts = 0;
  while (heard < kRounds) {
    const std::uint64_t words = here.take_words();
    if (words == 0) {
      const Berth berth = heard % 3 == 0 ? Berth::waiter : Berth::receiver;
      here.settle(berth);
      here.expect(berth);
      if (!here.any_rung()) timeouts += here.wait(berth, 5s) ? 0 : 1;
      continue;
    }
    const std::uint64_t now = rung;
    const std::uint64_t bell = now % detail::kBellsMax;
    BOOST_REQUIRE(words == std::uint64_t{1} << (bell / 64));
    BOOST_REQUIRE(here.take_bells(static_cast<std::uint32_t>(bell / 64)) == std::uint64_t{1} << (bell % 64));
    heard = now;
  }
  ringer.join();
  BOOST_TEST(timeouts == 0U);
}

BOOST_AUTO_TEST_CASE(after_an_overflow_packets_go_another_way_until_the_ring_is_empty) {
  OutRing ring;
  const detail::FileDescriptor memory = ring.make().value();
  RingReader reader(detail::map_segment(memory, detail::kRingSegmentBytes, detail::Writers::all).value());
  const Doorbell doorbell = Doorbell::make().value();
  ring.open(Doorbell::map(detail::FileDescriptor(::dup(doorbell.descriptor()))).value(), 1);
  std::mt19937_64 random(6);
  const Frames packet{bytes_of(30'000, random)};
  const Frames too_large{bytes_of(detail::kRingPacketMax, random)};
  const Frames small{bytes_of(1, random)};
  BOOST_TEST((ring.put(too_large) == OutRing::Put::other_way));
  BOOST_TEST((ring.put(packet) == OutRing::Put::begins));
  OutRing::Put last = OutRing::Put::done;
  std::size_t put = 0;
  while ((last = ring.put(packet)) == OutRing::Put::done) ++put;
  BOOST_TEST((last == OutRing::Put::pauses));
  Frames taken;
  while (put-- > 0) {
    BOOST_TEST((ring.put(small) == OutRing::Put::other_way));
    BOOST_TEST((reader.take(taken, 1) == RingReader::Took::packet));
  }
  BOOST_TEST((ring.put(small) == OutRing::Put::begins));
  BOOST_TEST((ring.put(small) == OutRing::Put::done));
  BOOST_TEST((ring.put(too_large) == OutRing::Put::pauses));
  BOOST_TEST((ring.put(too_large) == OutRing::Put::other_way));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
