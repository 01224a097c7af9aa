#include "node/links/streams/stream_sender.h"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <future>
#include <string>

#include "tests/node/links/streams/raw_connections.h"
#include "tests/node/links/streams/stream_ends.h"
#include "tests/support/watched_end.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stream_sender)

using namespace std::chrono_literals;
using testing::StreamEnds;

const NodeLife kPeer{"a", {1, 1}};

BOOST_AUTO_TEST_CASE(worn_stream_writes_what_it_took_and_takes_no_more) {
  StreamEnds ends({.records_max = 3});
  ends.open(kPeer);
  Frames packet;
  int taken = 1;
  for (; taken < 1000; ++taken) {
    packet = {testing::frame_of("text")};
    if (!ends.sender.send("a", packet)) break;
  }
  ends.wait([&] { return ends.ended.size() == 1; });
  const auto& end = ends.ended.front();
  BOOST_TEST(end.worn);
  BOOST_TEST(end.was_open);
  BOOST_TEST(end.left.size() < static_cast<std::size_t>(taken));
  ends.wait([&] { return ends.arrived.size() + end.left.size() == static_cast<std::size_t>(taken); });
  BOOST_TEST(ends.arrived.size() >= 3U);
  BOOST_TEST(ends.refused.empty());
}

BOOST_AUTO_TEST_CASE(stream_is_worn_after_so_many_bytes) {
  StreamEnds ends({.bytes_max = 1000});
  ends.open(kPeer);
  ends.send("a", std::string(2000, 'x'));
  ends.wait([&] { return ends.ended.size() == 1; });
  BOOST_TEST(ends.ended.front().worn);
  ends.wait([&] { return ends.arrived.size() == 2; });
}

BOOST_AUTO_TEST_CASE(packets_that_wait_for_a_stream_that_breaks_are_given_back_in_order) {
  StreamEnds ends;
  ends.open(kPeer);
  std::promise<void> may_end;
  ends.changes.change([&] { ends.on_arrival = [wait = may_end.get_future().share()] { wait.wait(); }; });
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) ends.send("a", std::to_string(i) + large);  // more than the connection takes
  auto removed = std::async(std::launch::async, [&] { ends.receiver.remove(kPeer); });
  may_end.set_value();
  removed.get();
  ends.wait([&] { return ends.ended.size() == 1; });
  const auto& end = ends.ended.front();
  BOOST_TEST((end.was_open && !end.worn));
  BOOST_TEST_REQUIRE(end.left.size() > 10U);
  for (std::size_t i = 0; i < end.left.size(); ++i) {
    const std::string number = std::to_string(100 - end.left.size() + i) + "x";
    BOOST_TEST(testing::text_of(end.left[i].at(0)).starts_with(number));
  }
}

BOOST_AUTO_TEST_CASE(backlog_counts_what_waits_and_not_what_was_sent) {
  StreamEnds ends({.backlog_bytes_max = 100'000});
  ends.open(kPeer);
  for (std::size_t i = 1; i <= 20; ++i) {
    ends.send("a", std::string(60'000, 'x'));
    ends.wait([&] { return ends.arrived.size() == 1 + i; });
  }
  ends.send("a", std::string(30'000, 'x'));
  ends.send("a", std::string(30'000, 'x'));
  ends.wait([&] { return ends.arrived.size() == 23; });
  BOOST_TEST(ends.sender.dropped() == 0U);
}

// They may be many, and of a user whose objects use the link when they end.
BOOST_AUTO_TEST_CASE(frames_of_a_closed_stream_end_without_the_lock) {
  const testing::RawPort silent{1};  // it reads nothing
  StreamEnds ends;
  testing::WatchedEnd end([&] { static_cast<void>(ends.sender.open_streams()); });
  ends.open({"b", {2, 2}});
  ends.connect(kPeer, detail::random_stream_id(), testing::key_of_test(), silent.number());
  const Frame large = testing::frame_of(std::string(1 << 20, 'x'));
  for (int i = 0; i < 100; ++i) {  // more than the connection takes
    Frames packet{large};
    BOOST_TEST(ends.sender.send("a", packet));
  }
  Frames packet{end.frame()};
  BOOST_TEST(ends.sender.send("a", packet));
  ends.send("b", "after it");
  ends.wait([&] { return ends.arrived.size() == 2; });  // with the first of b: the thread has seen them all
  ends.sender.close("a");
  BOOST_TEST(end.was_without_lock());
}

BOOST_AUTO_TEST_CASE(peer_without_a_stream_is_the_callers_affair) {
  StreamEnds ends;
  Frames packet{testing::frame_of("text")};
  BOOST_TEST(!ends.sender.send("nobody", packet));
  BOOST_TEST(packet.size() == 1U);
  ends.open(kPeer);
  ends.sender.close("a");
  BOOST_TEST(!ends.sender.send("a", packet));
  BOOST_TEST(packet.size() == 1U);
  BOOST_TEST(ends.ended.empty());  // who closes it knows
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
