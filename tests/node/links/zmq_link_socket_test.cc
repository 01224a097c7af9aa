#include "node/links/zmq_link_socket.h"

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/counting_new.h"
#include "tests/support/recording_sink.h"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::frame_of;

constexpr ZmqSocketLimits kAnyMessage{
    .frame_bytes_max = 1 << 30, .frames_max = 1000, .queue_messages_max = 1000, .handshake_timeout = 2s};

BOOST_AUTO_TEST_SUITE(zmq_link_socket)

// Its first frames would become those of the next message.
BOOST_AUTO_TEST_CASE(a_message_for_which_there_is_no_memory_is_dropped_whole) {
  ReadySet ready;
  ZmqContext context;
  ZmqSocket receiver = ZmqSocket::open(context, ZmqSocket::Kind::router, kAnyMessage).value();
  ZmqSocket sender = ZmqSocket::open(context, ZmqSocket::Kind::dealer, kAnyMessage).value();
  BOOST_REQUIRE(sender.tell(ready, 0).ok());
  BOOST_REQUIRE(sender.connect(receiver.bind("tcp://127.0.0.1:*").value()).ok());
  const TimePoint due = std::chrono::steady_clock::now() + 10s;
  const auto in_time = [due] { return std::chrono::steady_clock::now() < due; };
  const Frames message{frame_of("first"), frame_of(std::string(1'000, 'x')), frame_of("last")};
  bool was_refused = true;
  std::size_t dropped = 0;
  for (std::size_t n = 1; was_refused; ++n) {
    while (!sender.has_news(true) && in_time()) (void)ready.wait(100ms);
    bool was_sent = false;
    {
      const testing::RefusedAllocation refused(n);
      was_sent = sender.send(message);
      was_refused = refused.happened();
    }
    BOOST_TEST_REQUIRE(was_sent);
    if (was_refused) ++dropped;
  }
  BOOST_TEST(dropped > 1U);
  BOOST_TEST_REQUIRE(sender.send({frame_of("end")}));
  std::vector<std::size_t> sizes;
  while (sizes.size() < 2 && in_time()) {
    if (const auto arrived = receiver.receive()) sizes.push_back(arrived->size());
  }
  BOOST_TEST((sizes == std::vector<std::size_t>{4, 2}));  // with the name of the connection
}

/// Returns the options of this process's TCP connections: "keeps alive, silent for 5000 ms".
std::vector<std::string> connections() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) continue;
    if (info.tcpi_state != TCP_ESTABLISHED) continue;
    int keeps_alive = 0;
    unsigned silence = 0;
    size = sizeof keeps_alive;
    BOOST_TEST(::getsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &keeps_alive, &size) == 0);
    BOOST_TEST(::getsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, &size) == 0);
    all.push_back(fmt::format("{}, silent for {} ms", keeps_alive != 0 ? "keeps alive" : "may idle", silence));
  }
  return all;
}

// A call would wait for the end of TCP's own patience, a quarter of an hour, to a peer that is reachable.
BOOST_AUTO_TEST_CASE(both_ends_of_a_connection_see_that_the_way_between_them_is_gone) {
  ZmqSocketLimits limits = kAnyMessage;
  limits.silence_max = 5s;
  ReadySet ready;
  ZmqContext context;
  ZmqSocket receiver = ZmqSocket::open(context, ZmqSocket::Kind::router, limits).value();
  ZmqSocket sender = ZmqSocket::open(context, ZmqSocket::Kind::dealer, limits).value();
  BOOST_REQUIRE(sender.tell(ready, 0).ok());
  BOOST_REQUIRE(sender.connect(receiver.bind("tcp://127.0.0.1:*").value()).ok());
  const TimePoint due = std::chrono::steady_clock::now() + 10s;
  while (!sender.has_news(true) && std::chrono::steady_clock::now() < due) (void)ready.wait(100ms);
  const std::string wanted = "keeps alive, silent for 5000 ms";
  BOOST_TEST(connections() == std::vector<std::string>(2, wanted), boost::test_tools::per_element());
}

/// The undefined behaviour sanitizer checks an exception's type through a pipe: without a descriptor it reports every
/// type.
boost::test_tools::assertion_result no_sanitizer_needs_descriptors(boost::unit_test::test_unit_id) {
#ifdef __SANITIZE_ADDRESS__
  boost::test_tools::assertion_result no(false);
  no.message() << "skipped: the sanitizer itself needs descriptors";
  return no;
#else
  return true;
#endif
}

BOOST_AUTO_TEST_CASE(sockets_beyond_the_limit_of_descriptors_are_refused_by_name,
                     *boost::unit_test::precondition(no_sanitizer_needs_descriptors)) {
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::optional<Error> refusal;
  {
    ZmqContext context;
    std::vector<ZmqSocket> sockets;
    for (int i = 0; i < 100 && !refusal; ++i) {
      Result<ZmqSocket> opened = ZmqSocket::open(context, ZmqSocket::Kind::dealer, kAnyMessage);
      if (opened) {
        sockets.push_back(std::move(opened).value());
      } else {
        refusal = opened.error();
      }
    }
  }
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_TEST_REQUIRE(refusal.has_value());
  BOOST_TEST((refusal->code == ErrorCode::resource_exhausted));
  BOOST_TEST(refusal->hint == "the limit of open files (ulimit -Hn) is too low for so many peers");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
