#include "node/links/streams/stream_receiver.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/node/links/streams/stream_ends.h"

namespace {

std::atomic<std::size_t> descriptors_seen = 0;  // that any thread's waits ask for, or are told of

}  // namespace

extern "C" int poll(pollfd* descriptors, nfds_t count, int timeout) {
  descriptors_seen += count;
  const timespec limit{.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1'000'000L};
  return ::ppoll(descriptors, count, timeout < 0 ? nullptr : &limit, nullptr);
}

extern "C" int epoll_wait(int set, epoll_event* events, int count_max, int timeout) {
  const int count = ::epoll_pwait(set, events, count_max, timeout, nullptr);
  if (count > 0) descriptors_seen += static_cast<std::size_t>(count);
  return count;
}

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stream_receiver)

using namespace std::chrono_literals;
using testing::StreamEnds;

const NodeLife kOne{"a", {1, 1}};

/// Holds the next packet that arrives while it is being delivered.
class HeldDelivery {
 public:
  explicit HeldDelivery(StreamEnds& ends) {
    ends.changes.change([&] {
      ends.on_arrival = [state = state_] {
        if (state->once.exchange(true)) return;
        state->begun.set_value();
        state->may_end.get_future().wait();
      };
    });
  }
  ~HeldDelivery() { release(); }
  HeldDelivery(const HeldDelivery&) = delete;
  HeldDelivery& operator=(const HeldDelivery&) = delete;

  /// Waits until it has arrived.
  void wait() const { BOOST_REQUIRE((state_->begun.get_future().wait_for(10s) == std::future_status::ready)); }

  void release() {
    if (!std::exchange(released_, true)) state_->may_end.set_value();
  }

 private:
  struct State {
    std::atomic<bool> once = false;
    std::promise<void> begun;
    std::promise<void> may_end;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
  bool released_ = false;
};

BOOST_AUTO_TEST_CASE(remove_waits_for_the_packet_that_is_being_delivered_and_none_follows) {
  StreamEnds ends;
  ends.open(kOne);
  ends.wait([&] { return ends.arrived.size() == 1; });
  HeldDelivery held(ends);
  ends.send("a", "under way");
  held.wait();
  for (int i = 0; i < 100; ++i) ends.send("a", "too late");
  const auto remove = [&] { return std::async(std::launch::async, [&] { ends.receiver.remove(kOne); }); };
  auto removed = remove();
  BOOST_TEST((removed.wait_for(20ms) == std::future_status::timeout));
  auto removed_again = remove();  // by another thread
  BOOST_TEST((removed_again.wait_for(20ms) == std::future_status::timeout));
  held.release();
  removed.get();
  removed_again.get();
  BOOST_TEST(ends.count_of("a under way") == 1);
  ends.wait([&] { return !ends.ended.empty(); });  // the connection is closed
  BOOST_TEST(ends.count_of("a too late") == 0);
}

/// A stream that stays open until its end; REQUIRES: it was announced.
class HeldStream {
 public:
  HeldStream(StreamEnds& ends, const NodeLife& peer) : stream_(made(ends, peer)) {
    pollfd ready{.fd = stream_.descriptor(), .events = POLLOUT, .revents = 0};
    BOOST_REQUIRE(::poll(&ready, 1, 10'000) == 1);
    BOOST_REQUIRE(stream_.connected().ok());
  }
  void send(std::string_view text) {
    stream_.put({testing::frame_of(text)});
    (void)stream_.write();  // the other end may have closed it
  }

 private:
  static detail::OutStream made(StreamEnds& ends, const NodeLife& peer) {
    const detail::StreamId id = detail::random_stream_id();
    const detail::StreamKey key = testing::key_of_test();
    const auto port = ends.receiver.expect(peer, id, key, detail::Cipher::chacha20_poly1305);
    const auto place = host_address(fmt::format("127.0.0.1:{}", port.value()));
    return detail::OutStream::connect(place.value(), id, key, detail::Cipher::chacha20_poly1305, 10s).value();
  }
  detail::OutStream stream_;
};

BOOST_AUTO_TEST_CASE(stream_from_before_a_peer_was_removed_delivers_nothing) {
  StreamEnds ends;
  HeldStream old(ends, kOne);
  HeldStream other(ends, {"b", {1, 2}});
  old.send("old");
  ends.wait([&] { return ends.arrived.size() == 1; });
  // The receiver is busy with a packet of another peer while this one is removed and expected again.
  HeldDelivery held(ends);
  other.send("busy");
  held.wait();
  ends.receiver.remove(kOne);
  HeldStream next(ends, kOne);
  old.send("too late");
  next.send("new");
  held.release();
  ends.wait([&] { return std::ranges::count(ends.arrived, "a new") == 1; });
  BOOST_TEST(ends.count_of("a too late") == 0);
}

BOOST_AUTO_TEST_CASE(peer_has_two_streams_at_most) {
  StreamEnds ends;
  std::vector<std::unique_ptr<HeldStream>> streams;
  for (long i = 1; i <= 5; ++i) {
    streams.push_back(std::make_unique<HeldStream>(ends, kOne));
    streams.back()->send("text");
    ends.wait([&] { return std::ranges::count(ends.arrived, "a text") == i; });
  }
  HeldStream other(ends, {"b", {1, 2}});
  other.send("text");
  ends.wait([&] { return std::ranges::count(ends.arrived, "b text") == 1; });
  BOOST_TEST(ends.receiver.open_streams() <= 3U);
  BOOST_TEST(ends.receiver.open_streams() >= 2U);  // the last one of them may not be counted yet
}

BOOST_AUTO_TEST_CASE(announced_stream_may_begin_once, *boost::unit_test::label("attack")) {
  StreamEnds ends;
  const detail::StreamId id = detail::random_stream_id();
  const detail::StreamKey key = testing::key_of_test();
  const auto port = ends.receiver.expect(kOne, id, key, detail::Cipher::chacha20_poly1305);
  ends.connect(kOne, id, key, port.value());
  ends.wait([&] { return ends.arrived.size() == 1; });
  ends.start(kOne, id, key, port.value());  // what was recorded comes again
  ends.wait([&] { return ends.refused.size() == 1; });
  BOOST_TEST(ends.arrived.size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_comes_after_a_long_silence_has_time_to_say_what_it_is) {
  constexpr Duration kPatience = 400ms;
  StreamEnds ends({}, {.host = "127.0.0.1", .proof_patience = kPatience});
  ends.open(kOne);
  ends.wait([&] { return ends.arrived.size() == 1; });
  const TimePoint later = std::chrono::steady_clock::now() + kPatience + 100ms;
  while (std::chrono::steady_clock::now() < later) std::this_thread::yield();  // nothing happens: the receiver waits
  ends.open({"b", {1, 2}});
  ends.wait([&] { return ends.arrived.size() == 2; });
  BOOST_TEST(ends.refused.empty());
}

// The sender then takes another way: nothing is written to a stream that is never read.
BOOST_AUTO_TEST_CASE(stream_for_which_no_descriptor_is_free_is_closed) {
  StreamEnds ends;
  ends.open(kOne);  // both threads run
  ends.wait([&] { return ends.arrived.size() == 1; });
  for (long i = 1; i <= 2; ++i) {
    const detail::StreamId id = detail::random_stream_id();
    const detail::StreamKey key = testing::key_of_test();
    const auto port = ends.receiver.expect({"b", {1, 2}}, id, key, detail::Cipher::chacha20_poly1305);
    detail::FileDescriptor last(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit limit{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit full{.rlim_cur = static_cast<rlim_t>(last.get()) + 1, .rlim_max = limit.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &full) == 0);
    const int of_sender = last.get();
    last.close();  // for the sender's end
    ends.start({"b", {1, 2}}, id, key, port.value());
    ends.wait([&] { return std::ssize(ends.ended) == i && std::ssize(ends.refused) == i; });
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const TimePoint due = std::chrono::steady_clock::now() + 10s;
    while (::fcntl(of_sender, F_GETFD) >= 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
    BOOST_TEST(ends.changes.read([&] { return ends.ended.back().peer.name; }) == "b");
  }
  ends.send("a", "text");  // the one that was open before stays
  ends.wait([&] { return ends.arrived.size() == 2; });
}

BOOST_AUTO_TEST_CASE(packet_costs_the_same_however_many_other_streams_are_open) {
  constexpr std::size_t kPackets = 50;
  StreamEnds ends;
  for (std::uint64_t i = 1; i <= 40; ++i) ends.open({"peer" + std::to_string(i), {i, i}});
  ends.wait([&] { return ends.arrived.size() == 40; });
  const std::size_t before = descriptors_seen;
  for (std::size_t i = 1; i <= kPackets; ++i) {
    ends.send("peer7", "text");
    ends.wait([&] { return ends.arrived.size() == 40 + i; });
  }
  BOOST_TEST(descriptors_seen - before <= 8 * kPackets);  // one at each end, and what wakes the sender
}

BOOST_AUTO_TEST_CASE(port_of_the_first_node_is_left_to_it) {
  std::uint16_t free = 0;
  {
    StreamEnds ends;
    free = ends.receiver.expect(kOne, {}, testing::key_of_test(), detail::Cipher::none).value();
  }
  StreamEnds ends({}, {.host = "127.0.0.1", .ports = PortRange{free, free}, .port_of_first = free});
  const auto port = ends.receiver.expect(kOne, {}, testing::key_of_test(), detail::Cipher::none);
  BOOST_TEST_REQUIRE(!port.ok());
  BOOST_TEST((port.error().code == ErrorCode::resource_exhausted));
}

BOOST_AUTO_TEST_CASE(stopped_receiver_expects_nothing) {
  StreamEnds ends;
  ends.open(kOne);
  ends.receiver.stop();
  BOOST_TEST((ends.receiver.expect(kOne, {}, testing::key_of_test(), detail::Cipher::none).error().code ==
              ErrorCode::shutting_down));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
