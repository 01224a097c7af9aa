// Properties of the receiver of rings: senders take turns, the thread that waits receives, and no packet is left to a
// thread that has gone.
#include "node/links/shared_memory/ring_receiver.h"

#include <boost/test/unit_test.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/out_ring.h"
#include "node/links/shared_memory/ring.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {
namespace {

using detail::Doorbell;
using detail::OutRing;
using detail::RingReceiver;
using detail::Segment;
using detail::WaitPoint;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(ring_receiver)

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
  const Segment segment = detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value();
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

/// Adds a ring whose sender writes impossible bytes. Returns its bell when the receiver has said so, as event `events`.
std::uint32_t broken_ring(RingReceiver& receiver, const Received& received, std::size_t events) {
  const Segment segment = detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value();
  const auto place = receiver.add("liar", {}, segment.memory).value();
  segment.memory->bytes()[0] = std::byte{8};
  receiver.allow(place.bell, 1);
  received.wait(events);
  return place.bell;
}

BOOST_AUTO_TEST_CASE(the_end_of_a_liars_ring_is_not_that_of_a_ring_that_came_after_it) {
  Received received;
  RingReceiver receiver(received.callbacks());
  const std::uint32_t broken = broken_ring(receiver, received, 1);
  Sender honest(receiver, "honest");
  BOOST_TEST(honest.bell != broken);
  receiver.remove(broken);
  BOOST_TEST((honest.put({frame_of("x")}) == OutRing::Put::done));
  receiver.drain(honest.bell);
  BOOST_TEST(received.texts == std::vector<std::string>{"honest x"}, boost::test_tools::per_element());
  const Sender next(receiver, "next");
  BOOST_TEST(next.bell == broken);  // free from its removal on
  receiver.stop();
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

// A peer may call what it likes on the words of the page that it maps.
BOOST_AUTO_TEST_CASE(an_idle_thread_learns_of_its_job_although_a_peer_takes_its_wake_up_away,
                     *boost::unit_test::label("attack")) {
  Received received;
  RingReceiver receiver(received.callbacks(), {.sleep_max = 20ms, .spins = false});
  const Segment ring = detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value();
  const auto place = receiver.add("liar", {}, ring.memory).value();
  const auto page =
      detail::map_segment(detail::FileDescriptor(::dup(place.doorbell)), detail::kDoorbellBytes, detail::Writers::all)
          .value();
  auto* const of_idle = reinterpret_cast<std::uint32_t*>(page->bytes().data() + 192);  // as doorbell.cc has it
  auto* const elsewhere = reinterpret_cast<std::uint32_t*>(page->bytes().data() + 3072);
  WaitPoint job;
  std::atomic<bool> came = false;
  std::thread idle([&] {
    BOOST_TEST(receiver.work_while_idle(job).value());
    came = true;
  });
  // The thread now sleeps where no wake-up of its own process finds it.
  while (::syscall(SYS_futex, of_idle, FUTEX_CMP_REQUEUE, 0, 1, elsewhere, 0) != 1) std::this_thread::yield();
  job.signal();
  const TimePoint due = std::chrono::steady_clock::now() + 10s;
  while (!came && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(came);
  (void)::syscall(SYS_futex, elsewhere, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  idle.join();
  receiver.stop();
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

const std::string kTooLarge(detail::kRingPacketMax + 1, 'l');

BOOST_AUTO_TEST_CASE(each_run_whose_begin_was_never_told_waits_for_a_while) {
  constexpr auto kWhile = 20ms;
  Received received;
  RingReceiver receiver(received.callbacks(), RingReceiver::Options{.sleep_max = kWhile});
  Sender sender(receiver, "n");
  for (std::size_t run = 1; run <= 3; ++run) {
    BOOST_TEST((sender.ring.put({frame_of("x")}) == OutRing::Put::begins));
    const auto begin = std::chrono::steady_clock::now();
    BOOST_TEST((sender.ring.put({frame_of("x")}) == OutRing::Put::done));  // and the news of it is lost
    received.wait(run);
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= kWhile));
    BOOST_TEST((sender.ring.put({frame_of(kTooLarge)}) == OutRing::Put::pauses));
  }
  receiver.stop();
}

BOOST_AUTO_TEST_CASE(late_news_of_a_run_does_not_hold_up_a_later_one) {
  Received received;
  RingReceiver receiver(received.callbacks(), RingReceiver::Options{.sleep_max = 1h});
  Sender sender(receiver, "n");
  BOOST_TEST((sender.put({frame_of("x")}) == OutRing::Put::done));
  received.wait(1);
  BOOST_TEST((sender.put({frame_of(kTooLarge)}) == OutRing::Put::pauses));
  BOOST_TEST((sender.ring.put({frame_of("y")}) == OutRing::Put::begins));
  receiver.allow(sender.bell, 2);
  receiver.allow(sender.bell, 1);
  BOOST_TEST((sender.ring.put({frame_of("y")}) == OutRing::Put::done));
  receiver.drain(sender.bell);
  BOOST_TEST(received.count == 2U);
  receiver.stop();
}

BOOST_AUTO_TEST_CASE(news_of_runs_counts_also_after_their_numbers_wrapped_around) {
  Received received;
  RingReceiver receiver(received.callbacks(), RingReceiver::Options{.sleep_max = 1h});
  const Segment segment = detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value();
  detail::RingWriter writer(segment.memory);
  const auto place =
      receiver.add("n", {}, detail::map_segment(segment.file, detail::kRingSegmentBytes, detail::Writers::all).value())
          .value();
  for (const std::uint32_t run : {0x7fff'ffffU, 0xffff'fffeU, 0xffff'ffffU, 0U}) receiver.allow(place.bell, run);
  BOOST_TEST((writer.put({frame_of("x")}, 1) == detail::RingWriter::Put::done));
  receiver.drain(place.bell);
  BOOST_TEST(received.count == 0U);
  receiver.allow(place.bell, 1);
  receiver.drain(place.bell);
  BOOST_TEST(received.count == 1U);
  receiver.stop();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
