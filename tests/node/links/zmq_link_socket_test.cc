#include "node/links/zmq_link_socket.h"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
