// Attempts to reach listeners: those that answer, that refuse, that are silent, and that are others.
#include "node/doctor/reach_attempts.h"

#include <poll.h>
#include <sys/socket.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "node/doctor/free_ports.h"
#include "node/doctor/reach_listener.h"
#include "node/launch/reserved_port.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(reach_attempts)

namespace {

using Clock = std::chrono::steady_clock;

const std::string kHere = "127.0.0.1";
const std::string kToken = "0123456789abcdef0123456789ABCDEF";

/// Returns what becomes of an attempt, while `meanwhile` works.
HostWay end_of(
    const ReachPlace& place, std::uint64_t patience_ms, const std::function<void()>& meanwhile = [] {}) {
  ReachAttempts attempts({{place}, patience_ms}, Clock::now());
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(20);
  while (!attempts.over()) {
    BOOST_TEST_REQUIRE((Clock::now() < limit));
    std::vector<pollfd> polled;
    attempts.add_polled(polled);
    (void)::poll(polled.data(), polled.size(), 1);
    attempts.work(polled, Clock::now());
    meanwhile();
  }
  BOOST_TEST_REQUIRE(attempts.reached().ways.size() == 1u);
  return attempts.reached().ways[0];
}

/// A tcp port at which the kernel accepts, and answers `bytes` if some are given.
struct OtherProgram {
  explicit OtherProgram(std::string text) : bytes(std::move(text)), port(reserve_port(kHere, 0)) {
    BOOST_TEST_REQUIRE(listen(port.reservation.get(), 1) == 0);
  }
  void work() {
    pollfd polled{port.reservation.get(), POLLIN, 0};
    if (visitor.is_open() || ::poll(&polled, 1, 0) != 1) return;
    visitor = FileDescriptor(accept(polled.fd, nullptr, nullptr));
    if (!bytes.empty()) BOOST_TEST(::send(visitor.get(), bytes.data(), bytes.size(), 0) > 0);
    if (bytes.empty()) shutdown(visitor.get(), SHUT_RDWR);
  }
  [[nodiscard]] ReachPlace place() const {
    return {kHere, static_cast<std::uint16_t>(std::stoi(port.number)), false, 0, kToken};
  }
  std::string bytes;
  ReservedPort port;
  FileDescriptor visitor;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_listener_is_reached_by_tcp_by_udp_and_at_its_port_for_streams) {
  ReachListener listener({.network = "loopback", .stream_ports = "20000-65535", .token = kToken}, {});
  const Listening& there = listener.listening();
  BOOST_TEST_REQUIRE(there.udp);
  BOOST_TEST_REQUIRE(there.stream_port != 0);
  const HostWay way =
      end_of({there.address, there.port, there.udp, there.stream_port, kToken}, 10'000, [&] { listener.work(); });
  BOOST_CHECK(way.tcp.outcome == ReachOutcome::reached);
  BOOST_CHECK(way.udp.outcome == ReachOutcome::reached);
  BOOST_CHECK(way.stream.outcome == ReachOutcome::reached);
  BOOST_TEST(way.from == kHere);
  BOOST_TEST(way.tcp.microseconds < 10'000'000u);
}

BOOST_AUTO_TEST_CASE(a_listener_with_another_token_is_a_stranger) {
  ReachListener listener({.network = "loopback", .token = std::string(kTokenSize, 'x')}, {});
  const Listening& there = listener.listening();
  const HostWay way = end_of({there.address, there.port, true, 0, kToken}, 300, [&] { listener.work(); });
  BOOST_CHECK(way.tcp.outcome == ReachOutcome::stranger);
  BOOST_CHECK(way.udp.outcome == ReachOutcome::timed_out);  // it does not answer such a question
  BOOST_CHECK(way.stream.outcome == ReachOutcome::untried);
}

BOOST_AUTO_TEST_CASE(other_programs_are_strangers) {
  for (const std::string& bytes : {std::string(), std::string("SSH-2.0"), kToken + "x", std::string("0123x")}) {
    BOOST_TEST_CONTEXT(bytes) {
      OtherProgram other(bytes);
      const HostWay way = end_of(other.place(), 10'000, [&] { other.work(); });
      BOOST_CHECK(way.tcp.outcome == ReachOutcome::stranger);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_says_nothing_or_too_little_times_out) {
  for (const std::string& bytes : {std::string("0123"), kToken.substr(0, kTokenSize - 1)}) {
    OtherProgram other(bytes);
    const HostWay way = end_of(other.place(), 100, [&] { other.work(); });
    BOOST_CHECK(way.tcp.outcome == ReachOutcome::timed_out);
  }
}

BOOST_AUTO_TEST_CASE(a_port_without_a_listener_refuses) {
  const ReservedPort port = reserve_port(kHere, 0);  // it is bound, and does not listen
  const auto number = static_cast<std::uint16_t>(std::stoi(port.number));
  const HostWay way = end_of({kHere, number, true, number, kToken}, 10'000);
  BOOST_CHECK(way.tcp.outcome == ReachOutcome::refused);
  BOOST_CHECK(way.udp.outcome == ReachOutcome::refused);
  BOOST_CHECK(way.stream.outcome == ReachOutcome::refused);
  BOOST_TEST(way.tcp.text == "Connection refused");
}

BOOST_AUTO_TEST_CASE(a_lost_datagram_is_sent_again) {
  const ReservedPort port = reserve_port(kHere, 0);
  const auto number = static_cast<std::uint16_t>(std::stoi(port.number));
  // A socket that takes the first question and does not answer.
  const SocketAddress address = numeric_address(kHere, number);
  FileDescriptor deaf(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  BOOST_TEST_REQUIRE(bind(deaf.get(), address.get(), address.size) == 0);
  int questions = 0;
  const HostWay way = end_of({kHere, number, true, 0, kToken}, 10'000, [&] {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    char byte = 0;
    auto* const visitor = reinterpret_cast<sockaddr*>(&from);
    if (recvfrom(deaf.get(), &byte, 1, 0, visitor, &size) < 0 || ++questions < 2) return;
    BOOST_TEST(sendto(deaf.get(), kToken.data() + kTokenSize / 2, kTokenSize / 2, 0, visitor, size) == 16);
  });
  BOOST_CHECK(way.udp.outcome == ReachOutcome::reached);
  BOOST_TEST(questions == 2);
}

BOOST_AUTO_TEST_CASE(what_is_no_address_fails_at_once) {
  const HostWay way = end_of({"no address", 5, true, 0, kToken}, 10'000);
  BOOST_CHECK(way.tcp.outcome == ReachOutcome::failed);
  BOOST_TEST(way.tcp.text == "\"no address\" is not a numeric address");
  BOOST_TEST(ReachAttempts({}, Clock::now()).over());
}

BOOST_AUTO_TEST_SUITE_END()
