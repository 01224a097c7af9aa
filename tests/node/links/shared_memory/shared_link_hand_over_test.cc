// Properties of links whose small packets take rings: they arrive whatever happens to the ring, and before the news of
// the sender's end.
#include "node/links/shared_memory/shared_link.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/ring.h"
#include "node/links/shared_memory/segment_inbox.h"
#include "node/links/shared_memory/shared_table.h"
#include "tests/node/links/child_node.h"
#include "tests/node/links/shared_memory/nodes_by_hand.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"
#include "tests/support/counting_new.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(shared_link_hand_over)

/// Nodes a and b whose packets to each other take rings.
struct TwoWithRings : Two {
  explicit TwoWithRings(SharedLinkOptions options = {.packets_before_ring = 1}) : Two(options, options) {
    std::size_t sent = 0;
    until([&] {
      a.send("b", {});
      b.send("a", {});
      ++sent;
      return use_of(a).rings == 1 && use_of(b).rings == 1;
    });
    a.sink.wait_messages(sent);
    b.sink.wait_messages(sent);
    a.sink.forget_messages();
    b.sink.forget_messages();
  }
};

BOOST_AUTO_TEST_CASE(small_packets_take_the_ring_in_order) {
  TwoWithRings two;
  const std::uint64_t before = use_of(two.a).ring_packets;
  constexpr std::size_t kPackets = 5'000;
  std::thread back([&] {
    for (std::size_t i = 0; i < kPackets; ++i) two.b.link->send("a", LinkLane::express, {frame_of("back")});
  });
  for (std::size_t i = 0; i < kPackets; ++i)
    two.a.link->send("b", LinkLane::express, {frame_of(std::to_string(i)), frame_of("")});
  back.join();
  two.b.sink.wait_messages(kPackets);
  two.a.sink.wait_messages(kPackets);
  const auto messages = two.b.sink.messages();
  for (std::size_t i = 0; i < kPackets; ++i) {
    BOOST_REQUIRE(messages.at(i).frames.size() == 2U);
    BOOST_REQUIRE(text_of(messages[i].frames[0]) == std::to_string(i));
  }
  BOOST_TEST(use_of(two.a).ring_packets > before);
  BOOST_TEST(use_of(two.a).refused == 0U);
}

BOOST_AUTO_TEST_CASE(packets_that_a_ring_cannot_take_go_below) {
  TwoWithRings two;
  const std::uint64_t before = use_of(two.a).ring_packets;
  const std::string large(detail::kRingPacketMax, 'x');
  two.a.link->send("b", LinkLane::express, {frame_of("header"), frame_of(large)});
  two.a.link->send("b", LinkLane::bulk, {frame_of("header"), frame_of("small")});
  two.b.sink.wait_messages(2);
  BOOST_TEST(use_of(two.a).ring_packets == before);
  BOOST_TEST(use_of(two.a).rings == 1U);
}

// Some fit into no ring, some find no room at times: they change their way, and keep their order.
BOOST_AUTO_TEST_CASE(packets_of_all_sizes_arrive_in_order) {
  TwoWithRings two({.ring_patience = std::chrono::hours(1), .packets_before_ring = 1});  // no news of a ring gets lost
  const std::uint64_t before = use_of(two.a).ring_packets;
  constexpr std::size_t kPackets = 4'000;
  for (std::size_t i = 0; i < kPackets; ++i) {
    const std::size_t bytes = i % 100 == 0 ? detail::kRingPacketMax : two.random() % (i % 10 == 0 ? 40'000 : 200);
    two.a.link->send("b", LinkLane::express, {frame_of(std::to_string(i)), frame_of(std::string(bytes, 'x'))});
  }
  two.b.sink.wait_messages(kPackets);
  const auto messages = two.b.sink.messages();
  for (std::size_t i = 0; i < kPackets; ++i) BOOST_REQUIRE(text_of(messages.at(i).frames.at(0)) == std::to_string(i));
  const std::uint64_t through_rings = use_of(two.a).ring_packets - before;
  BOOST_TEST(through_rings > 0U);
  BOOST_TEST(through_rings < kPackets);
}

BOOST_AUTO_TEST_CASE(large_frames_are_shared_when_their_packet_takes_the_ring) {
  TwoWithRings two;
  const std::uint64_t before = use_of(two.a).ring_packets;
  const Frames sent{random_frame(kMib, two.random)};
  const Frames arrived = two.pass(sent);
  BOOST_TEST((arrived[0].memory == FrameMemory::foreign));
  BOOST_TEST(equal(arrived[0], sent[0]));
  BOOST_TEST(use_of(two.a).ring_packets == before + 1);
}

BOOST_AUTO_TEST_CASE(a_node_without_rings_gets_and_gives_none) {
  Two two({.rings = false}, {.packets_before_ring = 1});
  for (std::size_t i = 1; i <= 20; ++i) {
    two.a.send("b", {});
    two.b.sink.wait_messages(i);
    two.b.send("a", {});
    two.a.sink.wait_messages(i);
  }
  BOOST_TEST(use_of(two.a).rings == 0U);
  BOOST_TEST(use_of(two.b).rings == 0U);
  BOOST_TEST(use_of(two.a).ring_packets + use_of(two.b).ring_packets == 0U);
}

// A node says goodbye through the ring and closes the connection below it.
BOOST_AUTO_TEST_CASE(what_was_sent_before_the_end_arrives_before_the_news_of_it) {
  for (int round = 0; round < 20; ++round) {
    TwoWithRings two;
    for (int i = 0; i < 100; ++i) two.a.link->send("b", LinkLane::express, {frame_of("last words")});
    const std::uint64_t through_rings = use_of(two.a).ring_packets;
    two.a.link->stop();
    two.b.sink.wait_downs(1);
    BOOST_TEST(two.b.sink.messages().size() == 100U);
    BOOST_TEST(through_rings >= 100U);
  }
}

BOOST_AUTO_TEST_CASE(a_killed_process_leaves_its_ring_and_comes_again, *boost::unit_test::label("fault-F12")) {
  const ClusterSecret secret = ClusterSecret::random();
  SharingNode node("survivor", 1, secret, {.packets_before_ring = 1});
  for (std::uint64_t life = 2; life < 5; ++life) {
    ChildNode child(secret, place_of("child"), life, 10s, "shared_link_child");
    node.link->connect(child.address());
    node.sink.wait_ups(life - 1);
    until([&] {
      node.send("child", {});
      return use_of(node).rings == 1;
    });
    const std::uint64_t before = use_of(node).ring_packets;
    node.send("child", {});
    BOOST_TEST(use_of(node).ring_packets == before + 1);
    child.kill();
    node.sink.wait_downs(life - 1);
    BOOST_TEST(use_of(node).rings == 0U);
  }
}

/// A peer that has an inbox of its own, and knows that of b.
struct Liar : Hostile {
  detail::SharedControl control_of_b(detail::SharedControl::Kind kind) const {
    std::optional<detail::SharedControl> found;
    until([&] {
      for (const auto& message : sink.messages()) {
        const auto control = detail::decode_shared_control(message.frames.front());
        if (control && control->kind == kind) found = control;
      }
      return found.has_value();
    });
    return *found;
  }
  void tell(detail::SharedControl::Kind kind, std::uint32_t number = 0) {
    say(detail::encode(detail::SharedControl{.kind = kind, .number = number, .inbox = ""}));
  }
  void say_hello() {
    say(detail::encode(detail::SharedControl{.token = detail::random_inbox_token(), .inbox = inbox.place()}));
  }
  /// Puts memory, or nothing, into b's inbox.
  void hand_over(detail::HandOver kind, int descriptor, std::size_t bytes = 0, std::uint32_t segment = 0) const {
    const detail::HandedOver what{.kind = kind, .token = shown, .segment = segment, .bytes = bytes, .file = {}};
    BOOST_REQUIRE((inbox.send(hello.inbox, what, descriptor) == detail::SegmentInbox::Sent::done));
  }
  detail::SegmentInbox inbox = detail::SegmentInbox::open_beside(place_of("liars-inbox")).value();
  detail::SharedControl hello = control_of_b(detail::SharedControl::Kind::hello);
  detail::InboxToken shown = detail::shown_by("hostile", hello.token);
};

BOOST_AUTO_TEST_CASE(a_ring_with_impossible_bytes_ends_the_connection) {
  using detail::SharedControl;
  Liar two;
  two.say_hello();
  const auto segment = detail::make_segment(detail::kRingSegmentBytes, detail::Writers::all).value();
  two.hand_over(detail::HandOver::ring, segment.file.get(), detail::kRingSegmentBytes);
  two.tell(SharedControl::Kind::ring_offered);
  const std::uint32_t bell = two.control_of_b(SharedControl::Kind::ring_ready).number;
  std::optional<detail::Doorbell> doorbell;
  while (auto handed = two.inbox.receive()) {
    if (handed->kind == detail::HandOver::doorbell) doorbell.emplace(detail::Doorbell::map(handed->file).value());
  }
  BOOST_TEST_REQUIRE(doorbell.has_value());
  two.tell(SharedControl::Kind::ring_begins, 1);
  segment.memory->bytes()[0] = std::byte{24};  // a packet of zero bytes
  doorbell->ring(bell);
  two.b.sink.wait_downs(1);
  BOOST_TEST(use_of(two.b).refused == 1U);
}

BOOST_AUTO_TEST_CASE(a_frame_is_in_the_memory_that_its_lease_holds_whatever_segment_a_liar_names) {
  using detail::SharedControl;
  using detail::SharedEntry;
  Liar two;
  const auto page = detail::make_segment(detail::kLeasePageBytes, detail::Writers::all).value();
  const auto one = detail::make_segment(4096, detail::Writers::owner).value();
  const auto other = detail::make_segment(8192, detail::Writers::owner).value();
  two.hand_over(detail::HandOver::page, page.file.get(), detail::kLeasePageBytes);
  two.hand_over(detail::HandOver::segment, one.file.get(), 4096, 1);
  two.hand_over(detail::HandOver::segment, other.file.get(), 8192, 2);
  SharedEntry entry{
      .frame = 3, .memory = SharedEntry::Memory::senders, .segment = 1, .lease = {0, 9}, .offset = 0, .bytes = 100};
  two.say(detail::encode(std::vector{entry}));
  entry.segment = 2;
  two.say(detail::encode(std::vector{entry}));
  entry.offset = 4096;  // beyond the memory that the lease holds
  two.say(detail::encode(std::vector{entry}));
  two.tell(SharedControl::Kind::ended, 2);
  two.link->send("b", LinkLane::express, {frame_of("the last")});
  two.b.sink.wait_messages(3);
  const auto arrived = two.b.sink.messages();
  BOOST_TEST_REQUIRE(text_of(arrived.at(2).frames.at(0)) == "the last");
  BOOST_TEST(arrived[1].frames.at(3).bytes.data() == arrived[0].frames.at(3).bytes.data());
  BOOST_TEST(use_of(two.b).refused == 1U);
}

std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

/// A liar with a page and one segment of memory, which it hands over under many numbers.
struct LiarWithMemory : Liar {
  LiarWithMemory() { hand_over(detail::HandOver::page, page.file.get(), detail::kLeasePageBytes); }
  /// Hands over `descriptor`, or its memory, as the segment of each number from `begin` to before `end`.
  void give(std::uint32_t begin, std::uint32_t end, std::optional<int> descriptor = {}) {
    for (std::uint32_t number = begin; number < end; ++number) {
      const auto give_one = [&] {
        const detail::HandedOver what{.kind = detail::HandOver::segment,
                                      .token = shown,
                                      .segment = number,
                                      .bytes = 4096,
                                      .file = detail::FileDescriptor()};
        const auto sent = inbox.send(hello.inbox, what, descriptor.value_or(memory.file.get()));
        return sent == detail::SegmentInbox::Sent::done;
      };
      if (give_one()) continue;
      tell(detail::SharedControl::Kind::inbox_full);
      until(give_one);
    }
    tell(detail::SharedControl::Kind::inbox_full);
  }
  /// Sends a packet with a tensor in segment `number`.
  void send_in(std::uint32_t number, std::uint32_t slot) {
    say(detail::encode(std::vector{detail::SharedEntry{.frame = 3,
                                                       .memory = detail::SharedEntry::Memory::senders,
                                                       .segment = number,
                                                       .lease = {slot, 9},
                                                       .offset = 0,
                                                       .bytes = 100}}));
  }
  detail::Segment page = detail::make_segment(detail::kLeasePageBytes, detail::Writers::all).value();
  detail::Segment memory = detail::make_segment(4096, detail::Writers::owner).value();
};

// Half of the numbers come with what is no memory: they count, too.
BOOST_AUTO_TEST_CASE(of_memory_that_a_liar_gives_under_many_numbers_no_more_is_mapped_than_the_limit) {
  LiarWithMemory two;
  const detail::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::size_t before = mappings();
  two.give(0, 5'000);
  two.give(5'000, 10'000, nothing.get());
  two.check_refused(5'000);
  BOOST_TEST(mappings() < before + 8'192 - 5'000 + 100);  // and what else this process has mapped meanwhile
}

// None of their ends was heard, as when the news was lost with connections.
BOOST_AUTO_TEST_CASE(segments_beyond_the_limit_take_the_place_of_the_oldest_that_nothing_reads) {
  LiarWithMemory two;
  two.give(1, 3);
  two.send_in(1, 0);
  two.b.sink.wait_messages(1);
  two.give(3, 9'001);
  two.send_in(9'000, 1);
  two.send_in(1, 0);  // its lease holds it
  two.b.sink.wait_messages(3);
  two.send_in(2, 2);
  BOOST_TEST(two.control_of_b(detail::SharedControl::Kind::not_received).number == 2U);
  two.give(2, 3);
  two.send_in(2, 2);  // it came again
  two.b.sink.wait_messages(4);
  BOOST_TEST(use_of(two.b).refused == 1U);
}

// The segment of the second tensor has another size of blocks.
BOOST_AUTO_TEST_CASE(tensors_in_more_segments_than_a_peer_is_given_travel) {
  TwoByHand two({.segments_max = 1});
  const auto share = [&](std::size_t bytes) {
    Frames frames{frame_of("header"), frame_of("body"), random_frame(bytes, two.random)};
    two.a.link->share("b", frames);
    return frames[2].memory;
  };
  BOOST_TEST((share(kMib) == FrameMemory::leased));
  BOOST_TEST((share(4 * kMib) == FrameMemory::own));
  BOOST_TEST((share(kMib) == FrameMemory::leased));
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  BOOST_TEST((share(4 * kMib) == FrameMemory::leased));
}

// b had no memory for it, and asks for it. It ends before another packet needs it.
BOOST_AUTO_TEST_CASE(the_end_of_a_segment_that_did_not_come_is_told_all_the_same) {
  using detail::SharedControl;
  TwoByHand two;
  static_cast<void>(two.message({random_frame(kMib, two.random)}));
  const SharedControl asks{.kind = SharedControl::Kind::not_received, .number = 1, .inbox = {}};
  two.a.inner->sink->on_frames("b", two.life, {detail::encode(asks)});
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  BOOST_TEST_REQUIRE(two.a.inner->sent.size() == 1U);
  const auto told = detail::decode_shared_control(two.a.inner->sent[0].front());
  BOOST_TEST((told && told->kind == SharedControl::Kind::ended && told->number == 1));
}

BOOST_AUTO_TEST_CASE(a_peer_that_was_offered_no_leases_is_not_ready) {
  Liar two;  // it says no hello
  two.hand_over(detail::HandOver::ready, -1);
  two.tell(detail::SharedControl::Kind::ready);
  two.check_refused(0);
  BOOST_TEST(use_of(two.b).peers == 0U);
}

detail::FileDescriptor open_null() { return detail::FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

/// No descriptor of this number or above can be opened as long as it lives; those that are open can be polled.
class NoDescriptorsFrom {
 public:
  explicit NoDescriptorsFrom(int number) {
    getrlimit(RLIMIT_NOFILE, &limit_);
    const rlimit none{.rlim_cur = static_cast<rlim_t>(number), .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptorsFrom() { setrlimit(RLIMIT_NOFILE, &limit_); }
  NoDescriptorsFrom(const NoDescriptorsFrom&) = delete;
  NoDescriptorsFrom& operator=(const NoDescriptorsFrom&) = delete;

 private:
  rlimit limit_{};
};

// Two sizes of blocks: two segments, one after the other.
BOOST_AUTO_TEST_CASE(segments_arrive_where_no_descriptor_is_free) {
  Two two;
  const Frames sent{random_frame(kMib, two.random), random_frame(4 * kMib, two.random)};
  Frames message{frame_of("header"), frame_of("body"), sent[0], sent[1]};
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  const NoDescriptorsFrom none(open_null().get());
  for (std::size_t i = 1; i <= 2; ++i) {  // again, with segments that b has
    two.a.link->send("b", LinkLane::bulk, message);
    two.b.sink.wait_messages(i);
    const Frames arrived = two.b.sink.messages().at(i - 1).frames;
    BOOST_TEST(equal(arrived.at(3), sent[0]));
    BOOST_TEST(equal(arrived.at(4), sent[1]));
  }
  BOOST_TEST(use_of(two.b).refused == 0U);
  BOOST_TEST(!open_null().is_open());  // what made room for a segment is held again
}

BOOST_AUTO_TEST_CASE(a_segment_for_which_no_descriptor_was_free_is_handed_over_again) {
  // Below these no number is free, whatever the nodes give up.
  std::vector<detail::FileDescriptor> low;
  do low.push_back(open_null());
  while (low.back().get() < 16);
  Two two;
  const Frame sent = random_frame(4 * kMib, two.random);
  Frames message{frame_of("header"), frame_of("body"), sent};
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  {
    const NoDescriptorsFrom none(low.back().get());
    two.a.link->send("b", LinkLane::bulk, message);
    until([&] { return use_of(two.b).refused > 0; });
  }
  until([&] {  // as its session does
    two.a.link->send("b", LinkLane::bulk, message);
    return !two.b.sink.messages().empty();
  });
  BOOST_TEST(equal(two.b.sink.messages().front().frames.at(3), sent));
}

// The packet is refused after the lease of its first tensor was opened: that one is held again.
BOOST_AUTO_TEST_CASE(a_packet_of_which_one_segment_did_not_come_arrives_whole_when_it_comes_again) {
  std::vector<detail::FileDescriptor> low;
  do low.push_back(open_null());
  while (low.back().get() < 16);
  Two two;
  static_cast<void>(two.pass({random_frame(kMib, two.random)}));  // b has the segment of the first
  const Frames sent{random_frame(kMib, two.random), random_frame(4 * kMib, two.random)};
  Frames message{frame_of("header"), frame_of("body"), sent[0], sent[1]};
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  {
    const NoDescriptorsFrom none(low.back().get());
    two.a.link->send("b", LinkLane::bulk, message);
    until([&] { return use_of(two.b).refused > 0; });
  }
  until([&] {  // as its session does
    two.a.link->send("b", LinkLane::bulk, message);
    return !two.b.sink.messages().empty();
  });
  const Frames arrived = two.b.sink.messages().front().frames;
  for (const std::size_t tensor : {0U, 1U}) {
    BOOST_TEST((arrived.at(3 + tensor).memory == FrameMemory::foreign));
    BOOST_TEST(equal(arrived[3 + tensor], sent[tensor]));
  }
}

/// As long as it lives this process can map little more memory than it has.
class LittleMemory {
 public:
  LittleMemory() {
    getrlimit(RLIMIT_AS, &limit_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit little{.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + 16 * kMib,
                        .rlim_max = limit_.rlim_max};
    setrlimit(RLIMIT_AS, &little);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &limit_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit limit_{};
};

BOOST_AUTO_TEST_CASE(a_segment_that_cannot_be_mapped_is_missing_in_its_messages_and_asked_for_again) {
  Two two;
  // Two tensors in one segment, of a size that fits into no memory that is left.
  Frames message{frame_of("header"), frame_of("body"), random_frame(64 * kMib, two.random),
                 random_frame(64 * kMib, two.random)};
  two.a.link->share("b", message);
  message.insert(message.begin(), frame_of("session"));
  {
    const LittleMemory little;
    two.a.link->send("b", LinkLane::bulk, message);
    two.b.sink.wait_messages(1);
  }
  for (const std::size_t tensor : {3U, 4U}) {
    const Frame missing = two.b.sink.messages().front().frames.at(tensor);
    BOOST_TEST((missing.memory == FrameMemory::missing));
    BOOST_TEST(missing.bytes.empty());
  }
  two.b.sink.forget_messages();
  message.clear();
  until([&] {
    Frames none;
    two.a.link->share("b", none);
    return use_of(two.a).leases == 0;
  });
  const Frame next = random_frame(64 * kMib, two.random);
  until([&] { return equal(two.pass({next}).at(0), next); });
  BOOST_TEST((two.pass({next}).at(0).memory == FrameMemory::foreign));
}

/// A message for the first life of b, whose second life is up.
struct ForEarlierLife : Two {
  explicit ForEarlierLife(std::size_t bytes) : sent(random_frame(bytes, random)) {
    packet = {frame_of("header"), frame_of("body"), sent};
    BOOST_TEST((a.link->share("b", packet) == Incarnation{1, 2}));
    packet.insert(packet.begin(), frame_of("session"));
    BOOST_TEST((packet[3].memory == FrameMemory::leased));
    b.link->stop();
    until([&] { return use_of(a).peers == 0U; });
    again.emplace("b", 3, secret);
    a.link->connect(again->link->address());
    again->sink.wait_ups(1);
    a.sink.wait_ups(2);
  }
  [[nodiscard]] Frame arrived() const { return again->sink.messages().front().frames.at(3); }

  Frame sent;
  Frames packet;
  std::optional<SharingNode> again;
};

BOOST_AUTO_TEST_CASE(a_packet_for_an_earlier_life_of_a_peer_travels_with_its_bytes) {
  ForEarlierLife late(kMib);
  late.a.link->send("b", LinkLane::bulk, late.packet);
  late.again->sink.wait_messages(1);
  BOOST_TEST((late.arrived().memory == FrameMemory::own));
  BOOST_TEST(equal(late.arrived(), late.sent));
}

BOOST_AUTO_TEST_CASE(a_packet_for_an_earlier_life_that_is_too_large_to_travel_is_leased_to_the_present_one) {
  ForEarlierLife late(8 * kMib);
  // As its session: again and again, until it arrives.
  const auto send = [&] { late.a.link->send("b", LinkLane::express, late.packet); };
  until([&] {
    send();
    return !late.again->sink.messages().empty();
  });
  BOOST_TEST((late.arrived().memory == FrameMemory::foreign));
  BOOST_TEST(equal(late.arrived(), late.sent));
  const std::size_t leases = use_of(late.a).leases;
  for (int i = 0; i < 10; ++i) send();
  BOOST_TEST(use_of(late.a).leases == leases);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_would_return_to_an_earlier_life_of_a_peer_travels_with_its_bytes) {
  Two two;
  const Frame sent = random_frame(kMib, two.random);
  const Frames at_b = two.pass({sent});
  Frames message{frame_of("header"), frame_of("body"), at_b[0]};
  two.b.link->share("a", message);
  message.insert(message.begin(), frame_of("session"));
  BOOST_TEST((message[3].memory == FrameMemory::leased));
  two.a.link->stop();
  until([&] { return use_of(two.b).peers == 0U; });
  SharingNode again("a", 3, two.secret);
  two.b.link->connect(again.link->address());
  again.sink.wait_ups(1);
  two.b.sink.wait_ups(2);
  two.b.link->send("a", LinkLane::bulk, std::move(message));
  again.sink.wait_messages(1);
  const Frame arrived = again.sink.messages().front().frames.at(3);
  BOOST_TEST((arrived.memory == FrameMemory::own));
  BOOST_TEST(equal(arrived, sent));
}

BOOST_AUTO_TEST_CASE(a_packet_for_which_there_is_no_memory_is_lost_and_comes_again) {
  TwoByHand two;
  const Frame sent = random_frame(kMib, two.random);
  const Frames message = two.message({sent, sent});
  std::size_t refused = 0;
  for (int tries = 0; two.b.sink.last.empty() && tries < 1000; ++tries) {
    Frames packet = two.packet_of(message);
    {
      const RefusedAllocation allocation(refused + 1);
      two.deliver(std::move(packet));
      refused += allocation.happened();
    }
    two.deliver_to_a();  // asks for the segment, if that was lost with its packet
  }
  BOOST_TEST(refused > 3U);
  BOOST_TEST_REQUIRE(two.b.sink.last.size() == message.size());
  for (const std::size_t tensor : {3U, 4U}) BOOST_TEST(equal(two.b.sink.last[tensor], sent));
}

// Its session took it long ago. Held again, it would stand in the way of the lease that has its slot by now.
BOOST_AUTO_TEST_CASE(a_packet_that_comes_after_a_later_one_with_its_slot_is_refused) {
  TwoByHand two;
  Frames message = two.message({random_frame(kMib, two.random)});
  const Frames early = two.packet_of(message);
  two.deliver(early);
  two.b.sink.last.clear();
  message.clear();
  const Frame sent = random_frame(kMib, two.random);
  message = two.message({sent});
  const Frames later = two.packet_of(message);
  message.clear();
  two.deliver(later);
  const Frame held = two.b.sink.last.at(3);
  two.deliver(early);
  BOOST_TEST(two.b.link->shared_memory()->refused == 1U);
  two.deliver(later);
  two.b.sink.last.clear();
  Frames none;
  two.a.link->share("b", none);
  BOOST_TEST(two.a.link->shared_memory()->leases == 1U);
  BOOST_TEST(equal(held, sent));
}

// One that has lost the connection, and whose peer has not noticed, says hello again: its page is a new one.
BOOST_AUTO_TEST_CASE(leases_of_two_pages_do_not_stand_in_each_others_way) {
  TwoByHand two;
  for (int i = 0; i < 8; ++i) {  // generations of pages begin at random
    const Frame sent = random_frame(kMib, two.random);
    two.deliver(two.packet_of(two.message({sent})));
    BOOST_TEST_REQUIRE(two.b.sink.last.size() == 4U);
    BOOST_TEST(equal(two.b.sink.last[3], sent));
    two.b.sink.last.clear();
    two.a.inner->sink->on_link_down("b", two.life, Error{});
    two.a.inner->sink->on_link_up({.name = "b", .incarnation = two.life});
    two.settle();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
