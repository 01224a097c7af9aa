#include "node/links/memory_link.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/counting_new.h"
#include "tests/support/recording_sink.h"
#include "tests/support/watched_end.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(memory_link)

using testing::frame_of;
using testing::RecordingSink;

struct MemoryNode {
  MemoryNode(MemoryHub& hub, const std::string& name, std::uint64_t incarnation = 1)
      : link(hub, name, Incarnation{.high = 0, .low = incarnation}) {}
  RecordingSink sink;
  MemoryLink link;
};

BOOST_AUTO_TEST_CASE(frames_change_hands_without_a_copy) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");
  a.link.start(a.sink);
  b.link.start(b.sink);
  a.link.connect("memory://b");
  Frame frame = frame_of("tensor");
  const std::byte* bytes = frame.bytes.data();
  const std::weak_ptr<const void> owner = frame.owner;
  Frames frames;
  frames.push_back(std::move(frame));
  a.link.send("b", LinkLane::express, std::move(frames));
  BOOST_REQUIRE_EQUAL(b.sink.messages().size(), 1U);  // delivered on this thread
  BOOST_TEST(b.sink.messages()[0].frames[0].bytes.data() == bytes);
  BOOST_TEST(owner.use_count() == 1);
}

// What ends with it may be an object of a user's that uses the link.
BOOST_AUTO_TEST_CASE(packet_for_which_there_is_no_memory_ends_without_the_lock) {
  MemoryHub hub;
  std::list<testing::WatchedEnd> ends;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");  // does not start: its packets wait
  a.link.start(a.sink);
  a.link.connect("memory://b");
  bool refused = false;
  while (!refused && ends.size() < 20) {  // not each needs memory
    Frames packet{ends.emplace_back([&] { a.link.send("nobody", LinkLane::express, {}); }).frame()};
    const testing::RefusedAllocation allocation(1);
    try {
      a.link.send("b", LinkLane::express, std::move(packet));
    } catch (const std::bad_alloc&) {
      refused = true;
    }
  }
  BOOST_TEST_REQUIRE(refused);
  BOOST_TEST(ends.back().was_without_lock());
}

BOOST_AUTO_TEST_CASE(exception_of_a_sink_is_its_own_and_the_link_goes_on) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");
  bool has_memory = false;
  b.sink.answer_with([&](const NodeName&, const Frames&) {
    if (!std::exchange(has_memory, true)) throw std::bad_alloc();
  });
  a.link.start(a.sink);
  b.link.start(b.sink);
  a.link.connect("memory://b");
  a.link.send("b", LinkLane::express, {frame_of("refused")});
  BOOST_TEST(b.sink.order().back().starts_with("failed: the link: resource_exhausted"));
  a.link.send("b", LinkLane::express, {frame_of("taken")});
  BOOST_TEST(b.sink.messages().size() == 1U);
  b.link.stop();
}

BOOST_AUTO_TEST_CASE(conversation_of_100000_messages_does_not_grow_the_stack) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");
  int rallies = 0;
  a.sink.answer_with([&](const NodeName& from, const Frames& frames) {
    if (++rallies < 50'000) a.link.send(from, LinkLane::express, frames);
  });
  b.sink.answer_with([&](const NodeName& from, const Frames& frames) { b.link.send(from, LinkLane::express, frames); });
  a.link.start(a.sink);
  b.link.start(b.sink);
  a.link.connect("memory://b");
  a.link.send("b", LinkLane::express, {frame_of("ball")});
  BOOST_TEST(rallies == 50'000);
  BOOST_TEST(b.sink.messages().size() == 50'000U);
}

BOOST_AUTO_TEST_CASE(sink_is_called_by_one_thread_at_a_time_and_each_sender_keeps_its_order) {
  MemoryHub hub;
  MemoryNode b(hub, "b");
  std::atomic<int> inside = 0;
  std::atomic<bool> overlapped = false;
  b.sink.answer_with([&](const NodeName&, const Frames&) {
    if (++inside > 1) overlapped = true;
    --inside;
  });
  b.link.start(b.sink);
  constexpr int kSenders = 4;
  constexpr int kEach = 2000;
  std::vector<std::unique_ptr<MemoryNode>> senders;
  for (int i = 0; i < kSenders; ++i) {
    senders.push_back(std::make_unique<MemoryNode>(hub, fmt::format("a{}", i)));
    senders.back()->link.start(senders.back()->sink);
    senders.back()->link.connect("memory://b");
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& sender : senders) {
      threads.emplace_back([&link = sender->link] {
        for (int i = 0; i < kEach; ++i) link.send("b", LinkLane::express, {frame_of(std::to_string(i))});
      });
    }
  }
  b.sink.wait_messages(kSenders * kEach);
  BOOST_TEST(!overlapped);
  std::map<NodeName, int> next;
  for (const auto& message : b.sink.messages()) {
    BOOST_REQUIRE_EQUAL(testing::text_of(message.frames[0]), std::to_string(next[message.from]++));
  }
}

BOOST_AUTO_TEST_CASE(what_comes_before_start_is_delivered_at_start) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");
  a.link.start(a.sink);
  a.link.connect("memory://b");
  a.link.send("b", LinkLane::express, {frame_of("early")});
  BOOST_TEST(b.sink.order().empty());
  b.link.start(b.sink);
  BOOST_TEST((b.sink.order() == std::vector<std::string>{"up a", "frames a"}));
}

BOOST_AUTO_TEST_CASE(second_link_of_a_live_name_reaches_nobody_until_the_first_stops,
                     *boost::unit_test::label("fault-F43")) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode first(hub, "b", 1);
  a.link.start(a.sink);
  first.link.start(first.sink);
  {
    MemoryNode second(hub, "b", 2);
    second.link.start(second.sink);
    second.link.connect("memory://a");
    BOOST_REQUIRE_EQUAL(second.sink.failures().size(), 1U);
    BOOST_TEST((second.sink.failures()[0].why.code == ErrorCode::name_in_use));
  }
  a.link.connect("memory://b");
  BOOST_REQUIRE_EQUAL(a.sink.ups().size(), 1U);
  BOOST_TEST(a.sink.ups()[0].incarnation.low == 1U);
  first.link.stop();
  MemoryNode third(hub, "b", 3);
  third.link.start(third.sink);
  third.link.connect("memory://a");
  BOOST_REQUIRE_EQUAL(a.sink.ups().size(), 2U);
  BOOST_TEST(a.sink.ups()[1].incarnation.low == 3U);
}

BOOST_AUTO_TEST_CASE(link_may_be_stopped_from_its_own_sink) {
  MemoryHub hub;
  MemoryNode a(hub, "a");
  MemoryNode b(hub, "b");
  b.sink.answer_with([&](const NodeName&, const Frames&) { b.link.stop(); });
  a.link.start(a.sink);
  b.link.start(b.sink);
  a.link.connect("memory://b");
  a.link.send("b", LinkLane::express, {frame_of("last")});
  a.link.send("b", LinkLane::express, {frame_of("too late")});
  BOOST_TEST(b.sink.messages().size() == 1U);
  BOOST_REQUIRE_EQUAL(a.sink.downs().size(), 1U);
  BOOST_TEST((a.sink.downs()[0].why.code == ErrorCode::peer_down));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
