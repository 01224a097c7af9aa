// Tests of the chaos tools themselves: the other tests rely on them.
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "tensor/create.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/network_namespace.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(harness, *boost::unit_test::label("chaos"))

using namespace std::chrono_literals;
using boost::unit_test::label;
using boost::unit_test::precondition;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// A plain TCP socket, "tcp://NUMBERS:PORT".
class Socket {
 public:
  static Socket listening_at(std::string_view address) {
    Socket socket;
    const int on = 1;
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in bound = socket_address(address);
    BOOST_REQUIRE(::bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&bound), sizeof bound) == 0);
    BOOST_REQUIRE(::listen(socket.descriptor(), 8) == 0);
    return socket;
  }
  static Socket connected_to(std::string_view address) {
    Socket socket;
    const sockaddr_in there = socket_address(address);
    BOOST_REQUIRE(::connect(socket.descriptor(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0);
    return socket;
  }
  [[nodiscard]] Socket accept() const {
    return Socket(detail::FileDescriptor(::accept(descriptor(), nullptr, nullptr)));
  }
  [[nodiscard]] std::string address() const {
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    BOOST_REQUIRE(::getsockname(descriptor(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    return fmt::format("tcp://{}:{}", inet_ntoa(bound.sin_addr), ntohs(bound.sin_port));
  }
  [[nodiscard]] bool send(const std::vector<std::byte>& bytes) const {
    return ::send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// Returns all bytes until the connection ends or `most` have arrived.
  [[nodiscard]] std::vector<std::byte> receive(std::size_t most) const {
    std::vector<std::byte> all(most);
    std::size_t count = 0;
    while (count < most) {
      const ssize_t got = ::recv(descriptor(), all.data() + count, most - count, 0);
      if (got <= 0) break;
      count += static_cast<std::size_t>(got);
    }
    all.resize(count);
    return all;
  }
  /// Returns whether data arrives within `patience`.
  [[nodiscard]] bool hears_within(std::chrono::milliseconds patience) const {
    const timeval time{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
    ::setsockopt(descriptor(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    std::byte ignored{};
    return ::recv(descriptor(), &ignored, 1, MSG_PEEK) > 0;
  }

 private:
  Socket() : Socket(detail::FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))) {}
  explicit Socket(detail::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
    BOOST_REQUIRE(descriptor_.is_open());
  }
  static sockaddr_in socket_address(std::string_view address) {
    address.remove_prefix(std::string_view("tcp://").size());
    const std::size_t colon = address.rfind(':');
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_port = htons(static_cast<std::uint16_t>(std::stoi(std::string(address.substr(colon + 1)))));
    BOOST_REQUIRE(::inet_pton(AF_INET, std::string(address.substr(0, colon)).c_str(), &result.sin_addr) == 1);
    return result;
  }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  detail::FileDescriptor descriptor_;
};

/// A connection through a proxy.
struct ThroughProxy {
  ByteProxy proxy;
  Socket listening = Socket::listening_at(proxy.target());
  Socket near = Socket::connected_to(proxy.address());
  Socket far = listening.accept();
};

std::vector<std::byte> zeros(std::size_t count) { return std::vector<std::byte>(count); }

/// Returns the number of changed bytes, all of which were zero.
std::ptrdiff_t harmed(const std::vector<std::byte>& bytes) {
  return std::ranges::count_if(bytes, [](std::byte byte) { return byte != std::byte{0}; });
}

BOOST_AUTO_TEST_CASE(proxy_forwards_both_ways) {
  ThroughProxy wire;
  BOOST_TEST(wire.near.send(zeros(100)));
  BOOST_TEST(wire.far.receive(100).size() == 100U);
  BOOST_TEST(wire.far.send(zeros(30)));
  BOOST_TEST(wire.near.receive(30).size() == 30U);
  BOOST_TEST(wire.proxy.there().passed() == 100U);
  BOOST_TEST(wire.proxy.back().passed() == 30U);
  BOOST_TEST(wire.proxy.connections() == 1U);
}

BOOST_AUTO_TEST_CASE(proxy_throttles_one_way) {
  ThroughProxy wire;
  wire.proxy.there().throttle(1'000'000);
  const auto start = Clock::now();
  const auto received = std::async(std::launch::async, [&] { return wire.far.receive(500'000).size(); });
  BOOST_TEST(wire.near.send(zeros(500'000)));
  received.wait();
  const Seconds took = Clock::now() - start;
  BOOST_TEST(took.count() > 0.4);  // 0.5 MB at 1 MB/s, less one piece
}

BOOST_AUTO_TEST_CASE(proxy_that_stalls_holds_bytes_back_and_loses_none) {
  ThroughProxy wire;
  wire.proxy.there().stall();
  BOOST_TEST(wire.near.send(zeros(10)));
  BOOST_TEST(!wire.far.hears_within(50ms));
  BOOST_TEST(wire.far.send(zeros(10)));
  BOOST_TEST(wire.near.receive(10).size() == 10U);
  wire.proxy.there().resume();
  BOOST_TEST(wire.far.receive(10).size() == 10U);
}

BOOST_AUTO_TEST_CASE(proxy_cuts_after_so_many_bytes) {
  ThroughProxy wire;
  wire.proxy.there().cut_after(70'000);
  static_cast<void>(wire.near.send(zeros(100'000)));
  BOOST_TEST(wire.far.receive(100'000).size() == 70'000U);
  BOOST_TEST(wire.near.receive(1).empty());
  const Socket again = Socket::connected_to(wire.proxy.address());
  const Socket there = wire.listening.accept();
  BOOST_TEST(again.send(zeros(100'000)));
  BOOST_TEST(there.receive(100'000).size() == 100'000U);
}

BOOST_AUTO_TEST_CASE(proxy_corrupts_the_same_bytes_for_the_same_seed) {
  const auto corrupted = [](std::uint32_t seed) {
    ThroughProxy wire;
    wire.proxy.there().corrupt(seed, 100);
    BOOST_TEST(wire.near.send(zeros(50'000)));
    return wire.far.receive(50'000);
  };
  const std::vector<std::byte> first = corrupted(7);
  BOOST_TEST(harmed(first) > 400);  // 500 on average
  BOOST_TEST(harmed(first) < 600);
  BOOST_TEST((corrupted(7) == first));
  BOOST_TEST((corrupted(8) != first));
}

BOOST_AUTO_TEST_CASE(nodes_meet_through_a_proxy) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .bind = wire.target(), .advertise = wire.address()}}});
  const std::uint64_t before = wire.there().passed();
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &count_elements, troupe::zeros({250'000})) == 250'000);
  BOOST_TEST(wire.there().passed() > before + 1'000'000);
}

BOOST_AUTO_TEST_CASE(memory_of_a_process_can_be_limited_and_given_back, *precondition(NeedsMemoryLimit{})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_AS, process_use(p1.pid()).virtual_bytes + (64 << 20));
  const Error error = error_of([&] { return cluster.trainer().rpc_sync("p1", &filled, 100'000'000, 1.0); });
  BOOST_TEST(error.code == ErrorCode::resource_exhausted);
  p1.limit(RLIMIT_AS, RLIM_INFINITY);
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &filled, 10, 1.0).numel() == 10);
}

BOOST_AUTO_TEST_CASE(threads_of_a_process_can_be_limited, *precondition(NeedsRoot{}) * label("privileged")) {
  // A user id without other processes: process ids are below 2^22.
  const auto user = static_cast<uid_t>((1 << 22) + getpid());
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .user = user}}});
  const NodeProcess& p1 = cluster.process("p1");
  p1.limit(RLIMIT_NPROC, 7);
  std::ifstream limits(fmt::format("/proc/{}/limits", p1.pid()));
  std::string line;
  while (std::getline(limits, line) && !line.starts_with("Max processes")) continue;
  BOOST_TEST(std::stoi(line.substr(line.find_first_of("0123456789"))) == 7);
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &square, 3) == 9);
}

BOOST_AUTO_TEST_CASE(network_namespace_has_a_loopback_of_its_own,
                     *precondition(NeedsNamespaces{}) * label("privileged")) {
  const NetworkNamespace place;
  const NetworkNamespace::Inside inside(place);
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &square, 3) == 9);
}

BOOST_AUTO_TEST_CASE(network_namespace_is_as_slow_as_was_said, *precondition(NeedsNamespaces{}) * label("privileged")) {
  const NetworkNamespace place;
  place.limit_rate("lo", 100);
  const NetworkNamespace::Inside inside(place);
  const Socket listening = Socket::listening_at("tcp://127.0.0.1:0");
  const Socket near = Socket::connected_to(listening.address());
  const Socket far = listening.accept();
  const auto start = Clock::now();
  const auto received = std::async(std::launch::async, [&] { return far.receive(5'000'000).size(); });
  BOOST_TEST(near.send(zeros(5'000'000)));
  received.wait();
  const Seconds took = Clock::now() - start;
  BOOST_TEST(took.count() > 0.35);  // 5 MB at 12.5 MB/s, minus the bucket
}

BOOST_AUTO_TEST_CASE(wire_between_two_machines_can_be_cut_one_way,
                     *precondition(NeedsPacketFilter{}) * label("privileged")) {
  const NetworkNamespace one;
  const NetworkNamespace other;
  join_by_wire(one, other);
  const NetworkNamespace::Inside here(one);
  const Socket listening = Socket::listening_at("tcp://10.77.0.1:0");
  const Socket far = [&] {
    const NetworkNamespace::Inside there(other);
    return Socket::connected_to(listening.address());
  }();
  const Socket near = listening.accept();
  other.cut_incoming();
  BOOST_TEST(near.send(zeros(10)));
  BOOST_TEST(!far.hears_within(300ms));  // a lost packet is sent again after 200 ms
  BOOST_TEST(far.send(zeros(10)));
  BOOST_TEST(near.receive(10).size() == 10U);
  other.mend();
  BOOST_TEST(far.receive(10).size() == 10U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
