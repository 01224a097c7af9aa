// All memory of links that share returns: of packets that nobody reads, of lost lives, and when there is no memory.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "node/links/shared_memory/segment_inbox.h"
#include "node/links/shared_memory/shared_link.h"
#include "node/links/shared_memory/shared_table.h"
#include "tensor/storage.h"
#include "tests/node/links/shared_memory/fake_gpus.h"
#include "tests/node/links/shared_memory/nodes_by_hand.h"
#include "tests/node/links/shared_memory/sharing_nodes.h"
#include "tests/support/counting_new.h"
#include "tests/support/watched_end.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(memory_returns)

/// Returns how many segments, of all nodes together, this process maps.
std::size_t segments_mapped() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, name;
    words >> range >> access >> offset >> device >> inode >> name;
    if (name == "/memfd:troupe") inodes.insert(inode);
  }
  return inodes.size();
}

void end_unused(const TwoByHand& two) {
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  two.settle();
}

BOOST_AUTO_TEST_CASE(a_segment_whose_packet_never_leaves_stays_with_nobody) {
  TwoByHand two;
  const std::size_t before = segments_mapped();
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(two.message({random_frame(kMib, two.random)}));
    end_unused(two);
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    end_unused(two);
    BOOST_TEST(segments_mapped() == before);
  }
}

// Its session lets a message travel as a whole if not all of it could be shared.
BOOST_AUTO_TEST_CASE(segments_of_a_message_that_does_not_fit_into_the_limit_stay_with_nobody) {
  TwoByHand two({.bytes_max = 4 * kMib});
  const std::size_t before = segments_mapped();
  for (int i = 0; i < 20; ++i) {
    Frames message{frame_of("header"), frame_of("body")};
    for (int tensor = 0; tensor < 3; ++tensor) message.push_back(random_frame(2 * kMib, two.random));
    two.a.link->share("b", message);
    BOOST_TEST((message[3].memory == FrameMemory::leased && message[4].memory == FrameMemory::own));
    message.clear();
    end_unused(two);
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    end_unused(two);
    BOOST_TEST(segments_mapped() == before);
  }
}

/// As after b stood still for longer than its lease.
void go_down(const TwoByHand& two) {
  two.a.inner->sink->on_link_down("b", two.life, Error{});
  two.b.inner->sink->on_link_down("a", two.life, Error{});
}

void check_all_has_returned(const NodeByHand& node) {
  node.link->release_unused(std::chrono::steady_clock::now(), 5s);
  const SharedMemoryUse use = node.link->shared_memory().value();
  BOOST_TEST(use.leases == 0U);
  BOOST_TEST(use.idle_bytes == use.bytes);
}

BOOST_AUTO_TEST_CASE(leases_of_packets_that_a_lost_life_never_read_end_while_its_process_goes_on) {
  TwoByHand two;
  Frames message = two.message({random_frame(kMib, two.random)});
  static_cast<void>(two.packet_of(message));
  go_down(two);
  message.clear();
  check_all_has_returned(two.a);
}

BOOST_AUTO_TEST_CASE(leases_of_packets_that_a_stopped_node_never_read_end_while_its_process_goes_on) {
  TwoByHand two;
  static_cast<void>(two.packet_of(two.message({random_frame(kMib, two.random)})));
  two.b.link.reset();
  two.a.inner->sink->on_link_down("b", two.life, Error{});
  check_all_has_returned(two.a);
}

BOOST_AUTO_TEST_CASE(a_frame_of_a_lost_life_keeps_all_leases_of_that_life_until_it_is_dropped) {
  TwoByHand two;
  const Frame sent = random_frame(kMib, two.random);
  two.deliver(two.packet_of(two.message({sent})));
  static_cast<void>(two.packet_of(two.message({random_frame(kMib, two.random)})));
  go_down(two);
  two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
  BOOST_TEST(two.a.link->shared_memory()->leases == 2U);
  BOOST_TEST(equal(two.b.sink.last.at(3), sent));
  two.b.sink.last.clear();
  check_all_has_returned(two.a);
}

// Its node says hello again, and b has not noticed that it was gone.
BOOST_AUTO_TEST_CASE(memory_of_a_life_that_began_anew_stays_with_nobody) {
  TwoByHand two;
  const std::size_t before = segments_mapped();
  for (int i = 0; i < 3; ++i) {
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    static_cast<void>(two.packet_of(two.message({random_frame(4 * kMib, two.random)})));
    two.a.inner->sink->on_link_down("b", two.life, Error{});
    two.a.inner->sink->on_link_up({.name = "b", .incarnation = two.life});
    two.settle();
    end_unused(two);
    check_all_has_returned(two.a);
    check_all_has_returned(two.b);
    BOOST_TEST(segments_mapped() == before);
  }
}

// Tensors with blocks of their own, one that keeps its copy, and small ones in one block.
BOOST_AUTO_TEST_CASE(all_memory_of_a_message_returns_whatever_allocation_it_is_refused) {
  std::size_t refused = 0;
  for (bool happened = true; happened;) {
    TwoByHand two;
    Storage storage = Storage::allocate(kMib);
    std::memset(storage.mutable_data(), 1, kMib);
    Frames message{frame_of("header"), frame_of("body"), random_frame(kMib, two.random),
                   random_frame(2 * kMib, two.random), frame_of_storage(storage)};
    for (int i = 0; i < 8; ++i) message.push_back(random_frame(20'000, two.random));
    {
      const RefusedAllocation allocation(refused + 1);
      try {
        two.a.link->share("b", message);
      } catch (const std::bad_alloc&) {
      }
      happened = allocation.happened();
    }
    refused += happened;
    message.clear();
    storage = {};
    check_all_has_returned(two.a);
    end_unused(two);
    BOOST_TEST(two.a.link->shared_memory()->bytes == 0U, "refused: " << refused);
    // The peer hears of each segment that it was given.
    two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
    two.b.sink.last.clear();
    end_unused(two);
    BOOST_TEST(segments_mapped() == 2U, "refused: " << refused);
  }
  BOOST_TEST(refused > 20U);
}

/// Nodes a and b, as if of two processes, that have segments and a block on a GPU which can end.
struct TwoWithUnused {
  TwoWithUnused() {
    static_cast<void>(pass());  // offers the GPU
    pass();
    two.settle();
    BOOST_TEST_REQUIRE(host->live == 1);
  }
  /// Sends two tensors of the CPU, whose segments have different sizes of blocks, and one of the GPU.
  void pass() {
    Frames frames{frame_of("header"), frame_of("body"), random_frame(kMib, two.random),
                  random_frame(4 * kMib, two.random), random_frame(kMib, two.random)};
    frames[4].device = Device::cuda(0);
    two.a.link->share("b", frames);
    frames.insert(frames.begin(), frame_of("session"));
    for (Frames& packet : std::exchange(two.a.inner->sent, {})) two.deliver(std::move(packet));
    two.deliver(two.packet_of(frames));
    two.deliver_to_a();
    two.b.sink.last.clear();
  }
  static SharedLinkOptions of(const std::shared_ptr<FakeHost>& host, const std::string& process) {
    return {.gpus = std::make_shared<FakeGpus>(host, process), .process = process};
  }

  const std::shared_ptr<FakeHost> host = std::make_shared<FakeHost>();
  const std::size_t before = segments_mapped();
  TwoByHand two{of(host, "a"), of(host, "b")};
};

/// `acts` is refused each of its allocations, one after the other. Then all that has ended returns. Returns how many
/// allocations there were.
std::size_t check_news_of_the_end_is_not_lost(const std::function<void(const TwoByHand&)>& acts) {
  std::size_t refused = 0;
  for (bool happened = true; happened;) {
    const TwoWithUnused nodes;
    {
      const RefusedAllocation allocation(refused + 1);
      try {
        acts(nodes.two);
      } catch (const std::bad_alloc&) {
      }
      happened = allocation.happened();
    }
    refused += happened;
    nodes.two.settle();
    end_unused(nodes.two);
    BOOST_TEST(segments_mapped() == nodes.before + 2, "refused: " << refused);  // their pages of leases
    BOOST_TEST(nodes.host->live == 0, "refused: " << refused);
    BOOST_TEST(nodes.two.a.link->shared_memory()->refused == 0U, "refused: " << refused);
  }
  return refused;
}

BOOST_AUTO_TEST_CASE(peers_are_told_of_ended_memory_whatever_allocation_is_refused) {
  const std::size_t refused = check_news_of_the_end_is_not_lost(
      [](const TwoByHand& two) { two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s); });
  BOOST_TEST(refused > 5U);
}

BOOST_AUTO_TEST_CASE(a_block_on_a_gpu_returns_to_its_pool_whatever_allocation_is_refused) {
  (void)check_news_of_the_end_is_not_lost([](const TwoByHand& two) {
    Frames none;
    two.a.link->share("b", none);
  });
}

// It lies in the inbox still, where no packet has needed it.
BOOST_AUTO_TEST_CASE(a_segment_that_ends_is_unmapped_whatever_allocation_is_refused_to_its_receiver) {
  std::size_t refused = 0;
  for (bool happened = true; happened;) {
    TwoByHand two;
    const std::size_t before = segments_mapped();
    static_cast<void>(two.message({random_frame(kMib, two.random)}));
    two.a.link->release_unused(std::chrono::steady_clock::now() + 1h, 5s);
    {
      std::vector<Frames> news = std::exchange(two.a.inner->sent, {});
      BOOST_TEST_REQUIRE(news.size() == 1U);
      const RefusedAllocation allocation(refused + 1);
      two.deliver(std::move(news.front()));
      happened = allocation.happened();
    }
    refused += happened;
    BOOST_TEST(segments_mapped() == before, "refused: " << refused);
  }
  BOOST_TEST(refused > 1U);
}

// The last handle of a frame may be that of the message, and what ends with it an object of a user's that uses the
// link.
BOOST_AUTO_TEST_CASE(a_frame_that_is_shared_ends_without_the_locks_of_the_link) {
  const auto host = std::make_shared<FakeHost>();
  const auto with_gpu = [&](const std::string& process) -> SharedLinkOptions {
    return {.gpus = std::make_shared<FakeGpus>(host, process), .process = process};
  };
  TwoByHand two(with_gpu("a"), with_gpu("b"));
  const auto shared = [](const NodeByHand& from, const NodeName& to, Frame frame) {
    Frames message{frame_of("header"), frame_of("body")};
    message.push_back(std::move(frame));
    from.link->share(to, message);
    return message[2].memory == FrameMemory::leased;
  };
  const auto on_gpu = [](Frame frame) {
    frame.device = Device::cuda(0);
    return frame;
  };
  static_cast<void>(shared(two.a, "b", on_gpu(random_frame(kMib, two.random))));  // offers the GPU
  two.settle();
  for (const Device device : {Device::cpu(), Device::cuda(0)}) {
    WatchedEnd end([&] { static_cast<void>(shared(two.a, "b", frame_of("small"))); });
    Frame frame = end.frame(kMib);
    frame.device = device;
    BOOST_TEST(shared(two.a, "b", std::move(frame)));
    BOOST_TEST(end.was_without_lock());
  }
  // What b has received goes back as a place in a's memory. A tensor that shares it may be another object.
  two.deliver(two.packet_of(two.message({random_frame(kMib, two.random)})));
  const Frame& received = two.b.sink.last.at(3);
  WatchedEnd end([&] { static_cast<void>(shared(two.b, "a", frame_of("small"))); });
  BOOST_TEST(shared(two.b, "a", {received.bytes, end.object(), FrameMemory::foreign}));
  BOOST_TEST(end.was_without_lock());
}

// There is no socket here of the name that it calls its inbox.
BOOST_AUTO_TEST_CASE(no_memory_waits_for_a_peer_that_runs_on_another_host) {
  auto below = std::make_unique<LinkByHand>();
  LinkByHand& packets = *below;
  const auto link = SharedLink::over(std::move(below), {.name = "a", .packets_before_ring = 1}).value();
  LastFrames sink;
  link->start(sink);
  const Peer peer{.name = "b", .incarnation = {.high = 1, .low = 1}};
  packets.sink->on_link_up(peer);
  const std::size_t before = segments_mapped();
  const detail::SharedControl hello{.token = detail::random_inbox_token(),
                                    .inbox = "@troupe-memory-" + std::string(32, '0')};
  packets.sink->on_frames(peer.name, peer.incarnation, {detail::encode(hello)});
  std::mt19937_64 random{1};
  Frames message{frame_of("header"), frame_of("body"), random_frame(kMib, random)};
  BOOST_TEST(!link->share(peer.name, message).has_value());
  for (int i = 0; i < 20; ++i) link->send(peer.name, LinkLane::express, message);
  BOOST_TEST(segments_mapped() == before);
  BOOST_TEST(packets.sent.size() == 21U);  // its own hello, and all that was sent
}

// Or no socket can be had. Its peers find that it is not here, as if it ran on another host.
BOOST_AUTO_TEST_CASE(a_node_without_an_inbox_answers_no_offer_and_names_a_place_where_nobody_is) {
  auto below = std::make_unique<LinkByHand>();
  LinkByHand& packets = *below;
  const auto link =
      SharedLink::over(std::move(below), {.name = "a", .no_inbox = "why", .packets_before_ring = 1}).value();
  LastFrames sink;
  link->start(sink);
  const detail::SegmentInbox inbox = detail::SegmentInbox::open_beside(place_of("peer")).value();
  const Peer peer{.name = "b", .incarnation = {.high = 1, .low = 1}};
  packets.sink->on_link_up(peer);
  const std::size_t before = segments_mapped();
  const detail::SharedControl hello{.token = detail::random_inbox_token(), .inbox = inbox.place()};
  packets.sink->on_frames(peer.name, peer.incarnation, {detail::encode(hello)});
  for (int i = 0; i < 20; ++i) link->send(peer.name, LinkLane::express, {frame_of("packet")});
  BOOST_TEST(segments_mapped() == before);
  BOOST_TEST_REQUIRE(packets.sent.size() == 21U);  // its hello, and what was sent
  const auto its_hello = detail::decode_shared_control(packets.sent.front().front()).value();
  BOOST_TEST((inbox.send(its_hello.inbox, {.file = {}}, -1) == detail::SegmentInbox::Sent::nobody));
  BOOST_TEST(link->transports().at("b").text() ==
             "unix sockets (no shared memory: why; no ring: too few small messages so far)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
