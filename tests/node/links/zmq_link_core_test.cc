// Cancelled and repeated attempts to connect.
#include "node/links/zmq_link_core.h"

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/file_descriptor.h"
#include "node/links/zmq_link.h"
#include "tests/support/recording_sink.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(zmq_link_core)

namespace {

using namespace std::chrono_literals;
using testing::RecordingSink;

struct LinkOfTest {
  LinkOfTest(const std::string& name, std::uint64_t incarnation, const ClusterSecret& secret, const std::string& bind,
             bool repeats_up = false) {
    ZmqLinkOptions with;
    with.name = name;
    with.incarnation = {.high = 1, .low = incarnation};
    with.cluster_id = "test";
    with.secret = secret;
    with.bind = bind;
    with.repeats_up = repeats_up;
    with.connect_patience = with.handshake_timeout = 1h;
    auto opened = ZmqLink::open(std::move(with));
    BOOST_REQUIRE(opened.ok());
    link = std::move(opened).value();
    link->start(sink);
  }

  RecordingSink sink;
  std::unique_ptr<ZmqLink> link;
};

/// Accept connections, and never say a word. More of them than attempts are under way at the same time.
struct SilentHosts {
  SilentHosts() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    socklen_t size = sizeof place;
    BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&place), size) == 0 &&
                  ::listen(listener.get(), 100) == 0);
    BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&place), &size) == 0);
    for (std::size_t host = 1; host <= 2 * AttemptLimit::kPlaces; ++host) {
      addresses.push_back(fmt::format("tcp://127.0.1.{}:{}", host, ntohs(place.sin_port)));
    }
  }
  detail::FileDescriptor listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<std::string> addresses;
};

}  // namespace

BOOST_AUTO_TEST_CASE(connect_that_is_given_up_is_answered_at_once_and_may_be_repeated) {
  const ClusterSecret secret = ClusterSecret::random();
  const std::string place = "ipc://@troupe-test-given-up-" + std::to_string(::getpid());
  LinkOfTest a("a", 1, secret, place + "-a");
  a.link->connect(place);
  a.link->stop_connecting(place);
  a.sink.wait_failures(1);
  BOOST_TEST((a.sink.failures()[0].why.code == ErrorCode::cancelled));
  BOOST_TEST(a.sink.failures()[0].address == place);
  a.link->stop_connecting(place);  // the attempt was already answered
  LinkOfTest b("b", 2, secret, place);
  a.link->connect(place);
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  a.link->stop_connecting(place);  // too late
  a.link->send("b", LinkLane::express, {testing::frame_of("header"), testing::frame_of("x")});
  b.sink.wait_messages(1);
  BOOST_TEST(a.sink.failures().size() == 1U);
  BOOST_TEST(a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(every_connect_is_answered_by_a_link_that_repeats_ups) {
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*", true);
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  const std::string address = b.link->address();
  const std::string alias = "tcp://localhost" + address.substr(address.rfind(':'));
  std::size_t ups = 0;
  for (const std::string& asked : {address, address, alias, alias}) {
    a.link->connect(asked);
    a.sink.wait_ups(++ups);
  }
  b.link->connect(a.link->address());
  b.sink.wait_ups(1);
  b.link->send("a", LinkLane::express, {testing::frame_of("header"), testing::frame_of("x")});
  a.sink.wait_messages(1);
  BOOST_TEST(b.sink.ups().size() == 1U);
  BOOST_TEST(a.sink.ups().size() == 4U);
  BOOST_TEST(a.sink.downs().empty());
}

BOOST_AUTO_TEST_CASE(hosts_that_accept_and_stay_silent_do_not_keep_others_waiting) {
  const SilentHosts silent;
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  for (const std::string& address : silent.addresses) a.link->connect(address);
  a.link->connect(b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
  BOOST_TEST(a.sink.failures().empty());
}

BOOST_AUTO_TEST_CASE(attempts_that_are_given_up_wait_for_no_place) {
  const SilentHosts silent;
  const ClusterSecret secret = ClusterSecret::random();
  LinkOfTest a("a", 1, secret, "tcp://127.0.0.1:*");
  LinkOfTest b("b", 2, secret, "tcp://127.0.0.1:*");
  for (const std::string& address : silent.addresses) a.link->connect(address);
  for (const std::string& address : silent.addresses) a.link->stop_connecting(address);
  a.sink.wait_failures(silent.addresses.size());
  a.link->connect(b.link->address());
  a.sink.wait_ups(1);
  b.sink.wait_ups(1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
