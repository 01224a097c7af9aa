// Properties of links that share memory: no frame of a receiver ever changes, all memory returns, and whatever cannot
// be shared travels.
#include "node/links/shared_memory/shared_link.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/ring.h"
#include "node/links/zmq_link.h"
#include "tensor/storage.h"
#include "tests/node/links/child_node.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"
#include "tests/support/recording_sink.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Waits until no peer of `node` holds a lease. Any share collects.
void wait_no_leases(const SharingNode& node, const NodeName& peer) {
  until([&] {
    Frames none;
    node.link->share(peer, none);
    return use_of(node).leases == 0;
  });
}

BOOST_AUTO_TEST_SUITE(shared_link_child, *boost::unit_test::disabled())

/// Not a test: the process that ChildNode starts. It holds every frame that it is sent.
BOOST_AUTO_TEST_CASE(run_a_node_until_killed) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  if (suite.argc < 7) return;
  const std::vector<std::string> words(suite.argv + 1, suite.argv + 7);
  SharingNode node("child", std::stoull(words[1]), ClusterSecret::from_descriptor(std::stoi(words[2])).value());
  node.sink.answer_with([&node](const NodeName& from, const Frames&) {
    node.link->send(from, LinkLane::express, {frame_of("session"), frame_of("got it")});
  });
  const std::string line = node.link->address() + "\n";
  BOOST_REQUIRE(::write(std::stoi(words[3]), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  char nothing = 0;
  (void)!::read(std::stoi(words[4]), &nothing, 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(shared_link)

BOOST_AUTO_TEST_CASE(large_frames_arrive_in_the_senders_memory_small_ones_travel) {
  Two two;
  const Frame large = random_frame(4 * kMib, two.random);
  const Frame small = random_frame(1000, two.random);
  const Frames arrived = two.pass({small, large, frame_of("")});
  BOOST_TEST_REQUIRE(arrived.size() == 3U);
  BOOST_TEST((arrived[0].memory == FrameMemory::own && equal(arrived[0], small)));
  BOOST_TEST((arrived[1].memory == FrameMemory::foreign && equal(arrived[1], large)));
  BOOST_TEST(arrived[2].bytes.empty());
  BOOST_TEST(use_of(two.a).tensors == 1U);
  BOOST_TEST(use_of(two.a).bytes_copied == 4 * kMib);
  BOOST_TEST(use_of(two.a).leases == 1U);
}

// A receiver reads headers and bodies more than once: it refuses those that lie in the sender's memory.
BOOST_AUTO_TEST_CASE(large_headers_and_bodies_travel) {
  Two two;
  const Frames sent{random_frame(kMib, two.random), random_frame(2 * kMib, two.random), random_frame(kMib, two.random)};
  Frames message = sent;
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  two.a.link->send("b", LinkLane::bulk, std::move(message));
  two.b.sink.wait_messages(1);
  const Frames arrived = two.b.sink.messages().front().frames;
  BOOST_TEST_REQUIRE(arrived.size() == 4U);
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(equal(arrived[i + 1], sent[i]));
  BOOST_TEST((arrived[1].memory == FrameMemory::own && arrived[2].memory == FrameMemory::own));
  BOOST_TEST((arrived[3].memory == FrameMemory::foreign));
  BOOST_TEST(use_of(two.b).refused == 0U);
}

BOOST_AUTO_TEST_CASE(leases_return_when_the_receiver_lets_its_frames_go) {
  Two two;
  Frames arrived = two.pass({random_frame(kMib, two.random), random_frame(kMib, two.random)});
  Frames none;
  two.a.link->share("b", none);
  BOOST_TEST(use_of(two.a).leases == 2U);
  arrived.clear();
  wait_no_leases(two.a, "b");
  BOOST_TEST(use_of(two.a).idle_bytes == use_of(two.a).bytes);
}

BOOST_AUTO_TEST_CASE(a_frame_that_comes_back_is_the_memory_that_was_sent) {
  Two two;
  const Frame sent = random_frame(4 * kMib, two.random);
  const Frames at_b = two.pass({sent});
  two.b.send("a", {at_b[0]});
  two.a.sink.wait_messages(1);
  const Frame back = two.a.sink.messages()[0].frames.at(3);
  BOOST_TEST((back.memory == FrameMemory::foreign));  // its bytes did not travel
  BOOST_TEST(equal(back, sent));
  BOOST_TEST(use_of(two.b).bytes_copied == 0U);
  BOOST_TEST(use_of(two.b).bytes_avoided == 4 * kMib);
  // It is in a block: sending it again copies nothing.
  const auto copied = use_of(two.a).bytes_copied;
  BOOST_TEST(equal(two.pass({back})[0], sent));
  BOOST_TEST(use_of(two.a).bytes_copied == copied);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_frame_comes_back_as_that_part) {
  Two two;
  const Frame sent = random_frame(4 * kMib, two.random);
  const Frames at_b = two.pass({sent});
  two.b.send("a", {Frame{at_b[0].bytes.subspan(kMib, 2 * kMib), at_b[0].owner, at_b[0].memory}});
  two.a.sink.wait_messages(1);
  const Frame back = two.a.sink.messages()[0].frames.at(3);
  BOOST_TEST(std::ranges::equal(back.bytes, sent.bytes.subspan(kMib, 2 * kMib)));
}

// An inbox has room for some ten segments, and a message of which a part cannot be shared travels as a whole.
BOOST_AUTO_TEST_CASE(many_large_frames_take_few_segments_and_are_all_shared) {
  Two two;
  Frames sent;
  for (int i = 0; i < 150; ++i) sent.push_back(random_frame(kMib, two.random));
  for (int i = 0; i < 2; ++i) sent.push_back(random_frame(3 * kMib, two.random));
  for (int i = 0; i < 2; ++i) {
    const Frames arrived = two.pass(sent);
    BOOST_TEST_REQUIRE(arrived.size() == sent.size());
    for (std::size_t at = 0; at < sent.size(); ++at) {
      BOOST_TEST_REQUIRE((arrived[at].memory == FrameMemory::foreign && equal(arrived[at], sent[at])));
    }
    BOOST_TEST(use_of(two.a).bytes_copied == static_cast<std::size_t>(i + 1) * 156 * kMib);
  }
  BOOST_TEST(use_of(two.a).segments <= 4U);
}

// A session lets a message travel as a whole if not all of it could be shared. Nothing of that makes the receiver look
// into its inbox.
BOOST_AUTO_TEST_CASE(after_a_message_whose_segments_do_not_fit_into_the_inbox_there_is_room_again) {
  Two two;
  Frames sent;
  for (std::size_t i = 0; i < 18; ++i) {  // of 18 sizes of blocks
    const std::size_t octave = (std::size_t{64} << 10) << (i / 3);
    sent.push_back(random_frame(octave + i % 3 * octave / 4, two.random));
  }
  Frames message{frame_of("header"), frame_of("body")};
  message.insert(message.end(), sent.begin(), sent.end());
  two.a.link->share("b", message);
  BOOST_TEST((message.back().memory == FrameMemory::own));
  message.clear();
  two.pass({});  // behind the word that the inbox is full
  const Frames arrived = two.pass(sent);
  BOOST_TEST_REQUIRE(arrived.size() == sent.size());
  for (std::size_t at = 0; at < sent.size(); ++at) {
    BOOST_TEST((arrived[at].memory == FrameMemory::foreign && equal(arrived[at], sent[at])), at);
  }
}

BOOST_AUTO_TEST_CASE(many_small_frames_share_a_block) {
  Two two;
  Frames sent;
  for (int i = 0; i < 100; ++i) sent.push_back(random_frame(1000 + static_cast<std::size_t>(i), two.random));
  const Frames arrived = two.pass(sent);
  BOOST_TEST_REQUIRE(arrived.size() == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) BOOST_TEST(equal(arrived[i], sent[i]));
  BOOST_TEST(use_of(two.a).tensors == 100U);
  BOOST_TEST(use_of(two.a).segments == 1U);
}

BOOST_AUTO_TEST_CASE(beyond_the_limit_frames_travel) {
  Two two({.bytes_max = 16 * kMib});
  const Frame first = random_frame(12 * kMib, two.random);
  const Frames held = two.pass({first});
  BOOST_TEST((held[0].memory == FrameMemory::foreign));
  const Frame second = random_frame(3 * kMib, two.random);
  const Frames travelled = two.pass({second});
  BOOST_TEST((travelled[0].memory == FrameMemory::foreign));
  const Frame third = random_frame(3 * kMib + 1, two.random);
  BOOST_TEST((two.pass({third})[0].memory == FrameMemory::own));
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_share_reads_what_others_share) {
  Two two({.shares = false});
  const Frame sent = random_frame(kMib, two.random);
  BOOST_TEST((two.pass({sent})[0].memory == FrameMemory::own));
  two.b.send("a", {sent});
  two.a.sink.wait_messages(1);
  const Frame arrived = two.a.sink.messages()[0].frames.at(3);
  BOOST_TEST((arrived.memory == FrameMemory::foreign && equal(arrived, sent)));
}

BOOST_AUTO_TEST_CASE(frames_outlive_the_link_and_the_peer) {
  Two two;
  const Frame sent = random_frame(kMib, two.random);
  const Frames held = two.pass({sent});
  two.a.link->stop();
  two.b.sink.wait_downs(1);
  two.a.link.reset();
  BOOST_TEST(equal(held[0], sent));
}

BOOST_AUTO_TEST_CASE(a_message_that_is_never_sent_holds_nothing) {
  Two two;
  {
    Frames message{frame_of("header"), frame_of("body"), random_frame(kMib, two.random)};
    two.a.link->share("b", message);
    BOOST_TEST((message[2].memory == FrameMemory::leased));
    BOOST_TEST(use_of(two.a).leases == 1U);
  }
  BOOST_TEST(use_of(two.a).leases == 0U);
  BOOST_TEST(use_of(two.a).idle_bytes == use_of(two.a).bytes);
}

BOOST_AUTO_TEST_CASE(memory_that_was_not_used_for_a_while_returns_to_the_system_at_both_ends) {
  Two two;
  Frames held = two.pass({random_frame(20 * kMib, two.random)});
  const auto later = std::chrono::steady_clock::now() + 1h;
  two.a.link->release_unused(later, 5s);
  BOOST_TEST(use_of(two.a).segments == 1U);  // in use
  held.clear();
  wait_no_leases(two.a, "b");
  two.a.link->release_unused(std::chrono::steady_clock::now(), 5s);
  BOOST_TEST(use_of(two.a).segments == 1U);  // used a moment ago
  two.a.link->release_unused(later, 5s);
  BOOST_TEST(use_of(two.a).segments == 0U);
  // The next one is in a new segment.
  const Frame sent = random_frame(kMib, two.random);
  BOOST_TEST(equal(two.pass({sent})[0], sent));
}

BOOST_AUTO_TEST_CASE(a_packet_that_is_sent_twice_arrives_twice_and_has_one_lease) {
  Two two;
  const Frame sent = random_frame(kMib, two.random);
  Frames message{frame_of("header"), frame_of("body"), sent};
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  two.a.link->send("b", LinkLane::express, message);
  two.a.link->send("b", LinkLane::express, message);
  two.b.sink.wait_messages(2);
  for (const auto& arrived : two.b.sink.messages()) BOOST_TEST(equal(arrived.frames.at(3), sent));
  two.b.sink.forget_messages();
  // Again, after the lease was given back: its session may not have taken it.
  two.a.link->send("b", LinkLane::express, message);
  two.b.sink.wait_messages(1);
  message.clear();
  Frames none;
  two.a.link->share("b", none);
  BOOST_TEST(use_of(two.a).leases == 1U);
  const Frame again = two.b.sink.messages()[0].frames.at(3);
  BOOST_TEST((again.memory == FrameMemory::foreign && equal(again, sent)));
}

BOOST_AUTO_TEST_CASE(a_packet_that_comes_again_returns_its_lease_after_its_message_has_ended) {
  Two two;
  {
    Frames message{frame_of("session"), frame_of("header"), frame_of("body"), random_frame(kMib, two.random)};
    Frames tensors(message.begin() + 1, message.end());
    two.a.link->share("b", tensors);
    message[3] = tensors[2];
    for (std::size_t i = 0; i < 3; ++i) {
      two.a.link->send("b", LinkLane::express, message);
      two.b.sink.wait_messages(1);
      two.b.sink.forget_messages();
    }
  }
  wait_no_leases(two.a, "b");
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_sent_again_is_copied_once) {
  Two two;
  Storage storage = Storage::allocate(kMib);
  std::memset(storage.mutable_data(), 1, kMib);
  const Frames first = two.pass({frame_of_storage(storage)});
  const Frames second = two.pass({frame_of_storage(storage)});
  BOOST_TEST(use_of(two.a).bytes_copied == kMib);
  BOOST_TEST(use_of(two.a).bytes_avoided == kMib);
  BOOST_TEST(use_of(two.a).kept_bytes == kMib);
  BOOST_TEST(second[0].bytes.data() == first[0].bytes.data());
  storage = {};
  BOOST_TEST(use_of(two.a).kept_bytes == 0U);
  BOOST_TEST((second[0].bytes.back() == std::byte{1}));
}

BOOST_AUTO_TEST_CASE(a_tensor_that_was_written_is_copied_again) {
  Two two;
  Storage storage = Storage::allocate(kMib);
  std::memset(storage.mutable_data(), 1, kMib);
  const Frames before = two.pass({frame_of_storage(storage)});
  std::memset(storage.mutable_data(), 2, kMib);
  BOOST_TEST(use_of(two.a).kept_bytes == 0U);
  const Frames after = two.pass({frame_of_storage(storage)});
  BOOST_TEST((before[0].bytes.front() == std::byte{1}));
  BOOST_TEST((after[0].bytes.front() == std::byte{2}));
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_a_tensor_whose_bytes_the_program_can_reach) {
  Two two;
  Storage storage = Storage::allocate(kMib);
  std::byte* const span = storage.mutable_data();
  storage.expose();
  std::memset(span, 1, kMib);
  const Frames before = two.pass({frame_of_storage(storage)});
  std::memset(span, 2, kMib);
  const Frames after = two.pass({frame_of_storage(storage)});
  BOOST_TEST((before[0].bytes.front() == std::byte{1}));
  BOOST_TEST((after[0].bytes.front() == std::byte{2}));
}

BOOST_AUTO_TEST_CASE(two_nodes_of_one_process_keep_copies_of_their_own) {
  Two two;
  Storage storage = Storage::allocate(kMib);
  std::memset(storage.mutable_data(), 1, kMib);
  for (int i = 0; i < 3; ++i) {
    const Frames at_b = two.pass({frame_of_storage(storage)});
    two.b.send("a", {frame_of_storage(storage)});
    two.a.sink.wait_messages(1);
    BOOST_TEST((at_b[0].bytes.front() == std::byte{1}));
    BOOST_TEST((two.a.sink.messages()[0].frames.at(3).bytes.front() == std::byte{1}));
    two.a.sink.forget_messages();
  }
}

BOOST_AUTO_TEST_CASE(tensors_that_are_written_in_place_arrive_as_they_were_when_they_were_sent) {
  Two two({.bytes_max = 24 * kMib});
  std::vector<Storage> tensors;
  std::vector<std::uint8_t> numbers(8);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    tensors.push_back(Storage::allocate(70'000 + i * 100'000));
    std::memset(tensors.back().mutable_data(), 0, tensors.back().size());
  }
  std::deque<std::pair<Frame, std::uint8_t>> held;
  for (int i = 0; i < 400; ++i) {
    const std::size_t pick = two.random() % tensors.size();
    if (two.random() % 2 == 0) {
      numbers[pick] = static_cast<std::uint8_t>(two.random());
      std::memset(tensors[pick].mutable_data(), numbers[pick], tensors[pick].size());
    }
    held.emplace_back(two.pass({frame_of_storage(tensors[pick])})[0], numbers[pick]);
    if (held.size() > 12) held.erase(held.begin() + static_cast<std::ptrdiff_t>(two.random() % held.size()));
    for (const auto& [frame, number] : held) {
      BOOST_REQUIRE(std::to_integer<std::uint8_t>(frame.bytes.front()) == number);
      BOOST_REQUIRE(std::to_integer<std::uint8_t>(frame.bytes.back()) == number);
    }
  }
  BOOST_TEST(use_of(two.a).bytes_avoided > 0U);
}

// The property: whatever is sent, held and dropped, in both directions and by a third node, held frames keep their
// bytes, and in the end all memory has returned.
BOOST_AUTO_TEST_CASE(no_frame_that_is_held_ever_changes) {
  Two two({.bytes_max = 24 * kMib}, {.bytes_max = 24 * kMib});
  struct Held {
    Frame frame;
    std::vector<std::byte> bytes;
  };
  std::deque<Held> at_a;
  std::deque<Held> at_b;
  const auto check = [](const std::deque<Held>& all) {
    for (const Held& held : all) BOOST_REQUIRE(std::ranges::equal(held.frame.bytes, held.bytes));
  };
  for (int i = 0; i < 400; ++i) {
    const bool from_a = two.random() % 2 == 0;
    SharingNode& from = from_a ? two.a : two.b;
    SharingNode& to = from_a ? two.b : two.a;
    std::deque<Held>& own = from_a ? at_a : at_b;
    std::deque<Held>& theirs = from_a ? at_b : at_a;
    Frames sent;
    for (std::uint64_t count = 1 + two.random() % 3; count > 0; --count) {
      // One that it holds, or a new one.
      if (!own.empty() && two.random() % 3 == 0) {
        sent.push_back(own[two.random() % own.size()].frame);
      } else {
        sent.push_back(random_frame(1 + two.random() % (two.random() % 4 == 0 ? 2 * kMib : 200'000), two.random));
      }
    }
    std::vector<std::vector<std::byte>> wanted;
    for (const Frame& frame : sent) wanted.push_back(copy_of(frame));
    from.send(from_a ? "b" : "a", sent);
    to.sink.wait_messages(1);
    Frames arrived = std::move(to.sink.messages().front().frames);
    to.sink.forget_messages();
    for (std::size_t k = 0; k < sent.size(); ++k) {
      BOOST_REQUIRE(std::ranges::equal(arrived.at(k + 3).bytes, wanted[k]));
      theirs.push_back({arrived[k + 3], std::move(wanted[k])});
    }
    while (theirs.size() > two.random() % 20)
      theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(two.random() % theirs.size()));
    check(at_a);
    check(at_b);
  }
  BOOST_TEST(use_of(two.a).tensors > 50U);
  BOOST_TEST(use_of(two.a).bytes_avoided > 0U);
  at_a.clear();
  at_b.clear();
  wait_no_leases(two.a, "b");
  wait_no_leases(two.b, "a");
  for (const SharingNode* node : {&two.a, &two.b}) {
    BOOST_TEST(use_of(*node).idle_bytes == use_of(*node).bytes);
    BOOST_TEST(use_of(*node).refused == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_killed_process_gives_its_leases_back,
                     *boost::unit_test::label("fault-F12") * boost::unit_test::label("fault-F48")) {
  const ClusterSecret secret = ClusterSecret::random();
  SharingNode node("survivor", 1, secret);
  ChildNode child(secret, place_of("child"), 2, 10s, "shared_link_child");
  node.link->connect(child.address());
  node.sink.wait_ups(1);
  for (std::size_t i = 1; i <= 2; ++i) {
    node.send("child", {});
    node.sink.wait_messages(i);
  }
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < 3; ++i) node.send("child", {random_frame(kMib, random)});
  node.sink.wait_messages(5);
  Frames none;
  node.link->share("child", none);
  BOOST_TEST(use_of(node).leases == 3U);
  child.kill();
  node.sink.wait_downs(1);
  until([&] {
    node.link->release_unused(std::chrono::steady_clock::now(), 1h);
    return use_of(node).leases == 0;
  });
  BOOST_TEST(use_of(node).idle_bytes == use_of(node).bytes);
}

BOOST_AUTO_TEST_CASE(tables_that_lie_are_refused) {
  using detail::SharedEntry;
  Hostile two;
  const SharedEntry good{
      .frame = 3, .memory = SharedEntry::Memory::senders, .segment = 1, .lease = {0, 1}, .offset = 0, .bytes = 100};
  const auto changed = [&](auto change) {
    SharedEntry entry = good;
    change(entry);
    return std::vector<SharedEntry>{entry};
  };
  two.say(detail::encode(changed([](SharedEntry&) {})));  // no such segment
  two.say(detail::encode(changed([](SharedEntry& e) { e.lease.slot = 0xffffffff; })));
  two.say(detail::encode(changed([](SharedEntry& e) { e.frame = 0; })));  // the session's header
  two.say(detail::encode(changed([](SharedEntry& e) { e.frame = 2; })));  // the body
  two.say(detail::encode(changed([](SharedEntry& e) { e.frame = 0xffffffff; })));
  two.say(detail::encode(changed([](SharedEntry& e) { e.memory = static_cast<SharedEntry::Memory>(9); })));
  two.say(detail::encode(std::vector<SharedEntry>{good, good}));
  Frame torn = detail::encode(std::vector<SharedEntry>{good});
  torn.bytes = torn.bytes.first(torn.bytes.size() - 1);
  two.say(torn);
  two.check_refused(8);
}

BOOST_AUTO_TEST_CASE(control_messages_that_lie_are_refused) {
  using detail::SharedControl;
  Hostile two;
  Frame torn = detail::encode(SharedControl{.inbox = "@nobody"});
  torn.bytes = torn.bytes.first(20);
  two.say(torn);
  two.say(detail::encode(SharedControl{.inbox = std::string(108, 'x')}));
  two.say(detail::encode(SharedControl{.kind = static_cast<SharedControl::Kind>(17), .inbox = "@nobody"}));
  two.say(detail::encode(SharedControl{.inbox = ""}));
  two.say(detail::encode(SharedControl{.inbox = "@nobody"}));
  two.say(detail::encode(SharedControl{.inbox = "@somebody"}));                             // what it has said before
  two.say(detail::encode(SharedControl{.token = {{std::byte{1}}}, .inbox = "@somebody"}));  // both begin anew
  // Nothing was offered: these have no effect.
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::offered, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::ready, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::inbox_full, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::not_received, .number = 7, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::ended, .number = 7, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::ring_offered, .inbox = ""}));
  two.say(detail::encode(SharedControl{.kind = SharedControl::Kind::ring_ready, .number = 3, .inbox = ""}));
  two.check_refused(5);
  BOOST_TEST(use_of(two.b).peers == 0U);
  BOOST_TEST(use_of(two.b).rings == 0U);
}

BOOST_AUTO_TEST_CASE(memory_that_its_owner_could_take_away_is_refused, *boost::unit_test::label("fault-F48")) {
  const detail::FileDescriptor unsealed(::memfd_create("test", MFD_CLOEXEC));
  BOOST_REQUIRE(::ftruncate(unsealed.get(), 8192) == 0);
  const auto mapped = detail::map_segment(unsealed, 8192, detail::Writers::owner);
  BOOST_TEST((mapped.error().code == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_CASE(memory_that_does_not_exist_yet_is_refused, *boost::unit_test::label("attack")) {
  constexpr std::size_t kBytes = std::size_t{1} << 40;
  const detail::FileDescriptor sparse(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(::ftruncate(sparse.get(), kBytes) == 0);
  BOOST_REQUIRE(::fcntl(sparse.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  const auto mapped = detail::map_segment(sparse, kBytes, detail::Writers::owner);
  BOOST_TEST((mapped.error().code == ErrorCode::protocol_violation));
}

BOOST_AUTO_TEST_CASE(memory_in_which_its_owner_could_make_holes_is_refused,
                     *boost::unit_test::label("attack") * boost::unit_test::label("fault-F48")) {
  const detail::FileDescriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(::ftruncate(file.get(), 8192) == 0);
  BOOST_REQUIRE(::fallocate(file.get(), 0, 0, 8192) == 0);
  BOOST_REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  const auto mapped = detail::map_segment(file, 8192, detail::Writers::owner);
  BOOST_TEST((mapped.error().code == ErrorCode::protocol_violation));
  BOOST_TEST(detail::map_segment(file, 8192, detail::Writers::all).ok());
  BOOST_REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
  BOOST_TEST(detail::map_segment(file, 8192, detail::Writers::owner).ok());
  BOOST_TEST(::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) != 0);
}

BOOST_AUTO_TEST_CASE(an_inbox_takes_only_whole_datagrams_with_their_descriptor) {
  auto inbox = detail::SegmentInbox::open_beside(place_of("inbox")).value();
  const auto sender = detail::SegmentInbox::open_beside(place_of("sender")).value();
  const auto segment = detail::make_segment(8192, detail::Writers::owner).value();
  const detail::HandedOver what{.kind = detail::HandOver::segment,
                                .token = detail::random_inbox_token(),
                                .segment = 3,
                                .bytes = 8192,
                                .file = {}};
  const auto is_sent = [&](const detail::HandedOver& datagram, int descriptor) {
    return sender.send(inbox.place(), datagram, descriptor) == detail::SegmentInbox::Sent::done;
  };
  BOOST_TEST(is_sent(what, -1));                          // no descriptor
  BOOST_TEST(is_sent({.file = {}}, segment.file.get()));  // `ready` has none
  BOOST_TEST(is_sent(what, segment.file.get()));
  const auto received = inbox.receive();
  BOOST_TEST_REQUIRE(received.has_value());
  BOOST_TEST(received->token.matches(what.token));
  BOOST_TEST(received->segment == 3U);
  BOOST_TEST(received->sender == ::getpid());
  BOOST_TEST(detail::map_segment(received->file, received->bytes, detail::Writers::owner).ok());
  BOOST_TEST(!inbox.receive().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
