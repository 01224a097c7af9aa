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
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/out_ring.h"
#include "node/links/shared_memory/ring_receiver.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {
namespace {

using detail::Doorbell;
using detail::OutRing;
using detail::RingReader;
using detail::RingReceiver;
using detail::RingWriter;
using detail::Segment;
using detail::WaitPoint;
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

/// Collects what a receiver delivers.
struct Received {
  std::mutex mutex;
  std::vector<std::string> texts;  ///< guarded by mutex
  std::vector<NodeName> broken;    ///< guarded by mutex
  std::atomic<std::size_t> count = 0;

  RingReceiver::Callbacks callbacks() {
    return {.packet =
                [this](const NodeName& from, Incarnation, const Frames& packet) {
                  const std::lock_guard lock(mutex);
                  texts.push_back(from + " " + text_of(packet.at(0)));
                  ++count;
                },
            .lost = [] { BOOST_ERROR("a packet was lost"); },
            .broken =
                [this](const NodeName& from) {
                  const std::lock_guard lock(mutex);
                  broken.push_back(from);
                  ++count;
                },
            .failed = [](const Error& why) { BOOST_ERROR(why.text()); }};
  }
  void wait(std::size_t events) const {
    while (count < events) std::this_thread::yield();
  }
};

/// The ring of one sender to a receiver.
struct Sender {
  /// With `bells_away` it rings another bell than its own: nothing is read before the receiver looks.
  Sender(RingReceiver& of, const NodeName& name, std::uint32_t bells_away = 0) : receiver(of) {
    const detail::FileDescriptor memory = ring.make().value();
    const auto place =
        receiver.add(name, {}, detail::map_segment(memory, detail::kRingSegmentBytes, detail::Writers::all).value())
            .value();
    bell = place.bell;
    ring.open(Doorbell::map(detail::FileDescriptor(::dup(place.doorbell))).value(), bell + bells_away);
  }
  /// Puts a packet, and tells the receiver what the other way would.
  OutRing::Put put(const Frames& packet) {
    OutRing::Put put = ring.put(packet);
    while (put == OutRing::Put::begins) {
      receiver.allow(bell, ring.run());
      put = ring.put(packet);
    }
    if (put == OutRing::Put::pauses) receiver.drain(bell);
    return put;
  }
  RingReceiver& receiver;
  OutRing ring;
  std::uint32_t bell = 0;
};

BOOST_AUTO_TEST_CASE(many_senders_take_turns_and_each_ones_packets_stay_in_order) {
  Received received;
  RingReceiver receiver(received.callbacks());
  std::vector<std::unique_ptr<Sender>> senders;
  constexpr std::size_t kSenders = 70;  // more than one word of bells
  constexpr std::size_t kPackets = 300;
  for (std::size_t i = 0; i < kSenders; ++i)
    senders.push_back(std::make_unique<Sender>(receiver, "n" + std::to_string(i)));
  for (std::size_t packet = 0; packet < kPackets; ++packet) {
    for (const auto& sender : senders) {
      while (sender->put({frame_of(std::to_string(packet))}) != OutRing::Put::done) std::this_thread::yield();
    }
  }
  received.wait(kSenders * kPackets);
  receiver.stop();
  std::vector<std::size_t> next(kSenders);
  for (const std::string& text : received.texts) {
    const std::size_t sender = std::stoul(text.substr(1));
    BOOST_REQUIRE(std::stoul(text.substr(text.find(' '))) == next[sender]++);
  }
}

BOOST_AUTO_TEST_CASE(a_removed_ring_gives_up_what_it_has_and_its_bell_serves_another) {
  Received received;
  RingReceiver receiver(received.callbacks());
  for (int round = 0; round < 200; ++round) {
    Sender sender(receiver, "n");
    BOOST_REQUIRE(sender.bell == 0U);
    for (int i = 0; i < 20; ++i) BOOST_REQUIRE(sender.put({frame_of("x")}) == OutRing::Put::done);
    receiver.remove(sender.bell);
    BOOST_REQUIRE(received.count == static_cast<std::size_t>(20 * (round + 1)));
    BOOST_REQUIRE(sender.put({frame_of("late")}) == OutRing::Put::done);
  }
  receiver.stop();
  BOOST_TEST(received.count == 4'000U);
}

BOOST_AUTO_TEST_CASE(a_ring_is_read_after_a_packet_could_not_be_delivered_when_it_was_drained) {
  Received received;
  RingReceiver::Callbacks callbacks = received.callbacks();
  callbacks.packet = [deliver = callbacks.packet](const NodeName& from, Incarnation life, Frames packet) {
    if (text_of(packet.at(0)) == "bad") throw std::bad_alloc();
    deliver(from, life, std::move(packet));
  };
  RingReceiver receiver(callbacks, {.sleep_max = 1h});
  Sender sender(receiver, "n", 40);
  Sender other(receiver, "o");
  BOOST_REQUIRE(sender.bell < other.bell);  // of bells that ring together the lower one is first
  const auto look = [&] { receiver.allow(sender.bell, sender.ring.run()); };
  BOOST_REQUIRE(sender.put({frame_of("x")}) == OutRing::Put::done);
  look();
  BOOST_REQUIRE(other.put({frame_of("y")}) == OutRing::Put::done);
  received.wait(2);  // the receiver looks at the first ring no more
  BOOST_REQUIRE(sender.put({frame_of("bad")}) == OutRing::Put::done);
  BOOST_CHECK_THROW(receiver.drain(sender.bell), std::bad_alloc);
  BOOST_REQUIRE(sender.put({frame_of("z")}) == OutRing::Put::done);
  look();
  BOOST_REQUIRE(other.put({frame_of("y")}) == OutRing::Put::done);
  received.wait(3);
  receiver.stop();
  BOOST_TEST(std::ranges::count(received.texts, "n z") == 1);
}

BOOST_AUTO_TEST_CASE(a_liars_ring_is_read_no_longer_and_others_are) {
  Received received;
  RingReceiver receiver(received.callbacks());
  Sender honest(receiver, "honest");
  const Segment segment = ring_segment();
  const auto place =
      receiver
          .add("liar", {}, detail::map_segment(segment.file, detail::kRingSegmentBytes, detail::Writers::all).value())
          .value();
  const Doorbell doorbell = Doorbell::map(detail::FileDescriptor(::dup(place.doorbell))).value();
  receiver.allow(place.bell, 1);
  segment.memory->bytes()[0] = std::byte{8};
  doorbell.ring(place.bell);
  received.wait(1);
  BOOST_TEST(received.broken.at(0) == "liar");
  doorbell.ring(place.bell);
  doorbell.ring(detail::kBellsMax - 1);
  BOOST_TEST((honest.put({frame_of("x")}) == OutRing::Put::done));
  received.wait(2);
  receiver.stop();
  BOOST_TEST(received.texts.at(0) == "honest x");
}

/// A receiver whose packets signal what they name.
struct Waiting {
  Waiting() : sender(*receiver, "peer") {}
  ~Waiting() { receiver->stop(); }

  /// Waits with the receiver's help, while another thread sends a packet.
  bool wait(Duration limit) {
    const auto point = std::make_shared<WaitPoint>(receiver);
    {
      const std::lock_guard lock(mutex);
      open = point;
    }
    return point->wait_here(std::chrono::steady_clock::now() + limit);
  }
  /// Waits until so many packets were received.
  void arrived(std::size_t count) const {
    const TimePoint due = std::chrono::steady_clock::now() + 20s;
    while (packets < count) {
      BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < due, "no thread was woken for packet " << count);
      std::this_thread::yield();
    }
  }
  void send() { BOOST_REQUIRE(sender.put({frame_of("x")}) == OutRing::Put::done); }

  std::mutex mutex;
  std::shared_ptr<WaitPoint> open;  ///< guarded by mutex
  std::atomic<std::size_t> packets = 0;
  std::set<std::thread::id> by;  ///< guarded by mutex
  std::shared_ptr<RingReceiver> receiver = std::make_shared<RingReceiver>(
      RingReceiver::Callbacks{.packet =
                                  [this](const NodeName&, Incarnation, const Frames&) {
                                    std::shared_ptr<WaitPoint> point;
                                    {
                                      const std::lock_guard lock(mutex);
                                      by.insert(std::this_thread::get_id());
                                      point = std::exchange(open, nullptr);
                                    }
                                    ++packets;
                                    if (point) point->signal();
                                  },
                              .lost = [] { BOOST_ERROR("a packet was lost"); },
                              .broken = [](const NodeName&) { BOOST_ERROR("a ring is broken"); },
                              .failed = [](const Error& why) { BOOST_ERROR(why.text()); }},
      RingReceiver::Options{.sleep_max = 1h});  // a lost wake-up is never made up for
  Sender sender;
};

BOOST_AUTO_TEST_CASE(a_thread_that_waits_receives_its_answer_itself) {
  Waiting node;
  constexpr std::size_t kRounds = 2'000;
  std::atomic<std::size_t> sent = 0;
  std::thread peer([&] {
    for (; sent < kRounds; ++sent) {
      while (true) {
        const std::lock_guard lock(node.mutex);
        if (node.open) break;
      }
      node.send();
      node.arrived(sent + 1);
    }
  });
  for (std::size_t i = 0; i < kRounds; ++i) BOOST_REQUIRE(node.wait(10s));
  peer.join();
  BOOST_TEST(node.packets == kRounds);
  BOOST_TEST(node.by.contains(std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_deadline_and_the_own_thread_receives_again) {
  Waiting node;
  for (std::size_t i = 0; i < 20; ++i) {
    BOOST_REQUIRE(!node.wait(1ms));
    node.send();
    node.arrived(i + 1);
  }
  BOOST_TEST(!node.by.contains(std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(a_signal_from_another_thread_ends_the_wait_of_one_that_receives) {
  Waiting node;
  for (int i = 0; i < 2'000; ++i) {
    const auto point = std::make_shared<WaitPoint>(node.receiver);
    std::thread other([&] { point->signal(); });
    BOOST_REQUIRE(point->wait_here(std::chrono::steady_clock::now() + 10s));
    other.join();
  }
}

BOOST_AUTO_TEST_CASE(waits_come_and_go_while_packets_come_and_none_waits) {
  Waiting node;
  constexpr std::size_t kPackets = 20'000;
  std::atomic<bool> over = false;
  std::vector<std::thread> waiters;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    waiters.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (!over) static_cast<void>(node.wait(std::chrono::microseconds(random() % 200)));
    });
  }
  for (std::size_t i = 0; i < kPackets; ++i) {
    node.send();
    // One at a time: each must wake somebody.
    node.arrived(i + 1);
  }
  over = true;
  for (std::thread& waiter : waiters) waiter.join();
}

BOOST_AUTO_TEST_CASE(an_idle_thread_receives_unless_another_one_waits) {
  Waiting node;
  WaitPoint over;
  std::thread idle([&] { BOOST_TEST(node.receiver->work_while_idle(over).value()); });
  const auto receivers = [&] {
    const std::lock_guard lock(node.mutex);
    return std::exchange(node.by, {});
  };
  // Whichever thread was awake first may take the first packets.
  std::size_t sent = 0;
  const auto send = [&] {
    node.send();
    ++sent;
    node.arrived(sent);
  };
  do send();
  while (!receivers().contains(idle.get_id()));
  // A packet may come before this thread waits, or while the idle one still looks for more: that one takes it then.
  const TimePoint due = std::chrono::steady_clock::now() + 20s;
  do {
    BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < due, "no packet was received by the thread that waits");
    std::thread other([&] {
      while (true) {
        const std::lock_guard lock(node.mutex);
        if (node.open) break;
      }
      send();
    });
    BOOST_REQUIRE(node.wait(10s));
    other.join();
  } while (!receivers().contains(std::this_thread::get_id()));
  do send();
  while (!receivers().contains(idle.get_id()));
  over.signal();
  idle.join();
  send();  // the own thread's
  BOOST_TEST(!receivers().contains(idle.get_id()));
}

BOOST_AUTO_TEST_CASE(idle_threads_come_and_go_while_others_wait_and_none_is_left) {
  Waiting node;
  constexpr std::size_t kPackets = 20'000;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (!over) static_cast<void>(node.wait(std::chrono::microseconds(random() % 200)));
    });
  }
  std::mutex mutex;
  std::shared_ptr<WaitPoint> point;  // guarded by mutex
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        const auto mine = std::make_shared<WaitPoint>();
        {
          const std::lock_guard lock(mutex);
          point = mine;
        }
        static_cast<void>(node.receiver->work_while_idle(*mine));
      }
    });
  }
  for (std::size_t i = 0; i < kPackets; ++i) {
    if (i % 5 == 0) {
      const std::lock_guard lock(mutex);
      if (point) point->signal();
    }
    node.send();
    node.arrived(i + 1);
  }
  over = true;
  node.receiver->stop();
  for (std::thread& thread : threads) thread.join();
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_receiving_of_a_thread_that_waits) {
  for (int round = 0; round < 200; ++round) {
    Waiting node;
    const auto point = std::make_shared<WaitPoint>(node.receiver);
    std::thread waiter([&] { BOOST_TEST(point->wait_here(std::chrono::steady_clock::now() + 10s)); });
    node.receiver->stop();
    BOOST_TEST(!node.receiver->work_until(*point, std::nullopt).has_value());
    point->signal();
    waiter.join();
  }
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

BOOST_AUTO_TEST_CASE(a_run_whose_begin_was_never_told_is_read_after_a_while) {
  Received received;
  RingReceiver receiver(received.callbacks(), RingReceiver::Options{.sleep_max = 20ms});
  Sender sender(receiver, "n");
  BOOST_TEST((sender.ring.put({frame_of("x")}) == OutRing::Put::begins));
  BOOST_TEST((sender.ring.put({frame_of("x")}) == OutRing::Put::done));  // and the news of it is lost
  received.wait(1);
  receiver.stop();
  BOOST_TEST(received.texts.at(0) == "n x");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
