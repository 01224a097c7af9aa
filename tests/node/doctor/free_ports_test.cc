// How many ports of a range are free.
#include "node/doctor/free_ports.h"

#include <sys/socket.h>
#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

#include "node/file_descriptor.h"
#include "node/launch/reserved_port.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(free_ports)

namespace {

const std::string kHere = "127.0.0.1";

/// A port that the test has for itself.
ReservedPort some_port() { return reserve_port(kHere, 0); }

PortRange only(const ReservedPort& port) {
  const auto number = static_cast<std::uint16_t>(std::stoi(port.number));
  return {number, number};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_port_at_which_something_listens_is_not_free) {
  const ReservedPort port = some_port();
  BOOST_CHECK((count_free_ports(kHere, only(port), PortKind::tcp) == PortCount{1, 1}));
  BOOST_TEST_REQUIRE(listen(port.reservation.get(), 1) == 0);
  BOOST_CHECK((count_free_ports(kHere, only(port), PortKind::tcp) == PortCount{1, 0}));
  BOOST_CHECK((count_free_ports(kHere, only(port), PortKind::tcp_and_udp) == PortCount{1, 0}));
}

BOOST_AUTO_TEST_CASE(nodes_need_the_udp_port_and_streams_do_not) {
  const ReservedPort port = some_port();
  const SocketAddress address = numeric_address(kHere, only(port).low);
  const FileDescriptor datagrams(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  BOOST_TEST_REQUIRE(bind(datagrams.get(), address.get(), address.size) == 0);
  BOOST_CHECK((count_free_ports(kHere, only(port), PortKind::tcp_and_udp) == PortCount{1, 0}));
  BOOST_CHECK((count_free_ports(kHere, only(port), PortKind::tcp) == PortCount{1, 1}));
}

BOOST_AUTO_TEST_CASE(of_a_long_range_the_first_ones_are_tried) {
  BOOST_TEST(count_free_ports(kHere, {20000, 65535}, PortKind::tcp).tried == 256u);
  BOOST_TEST(count_free_ports(kHere, {65534, 65535}, PortKind::tcp).tried == 2u);
}

BOOST_AUTO_TEST_CASE(only_numbers_are_addresses) {
  BOOST_TEST(numeric_address("::1", 5).family() == AF_INET6);
  BOOST_CHECK_THROW((void)numeric_address("localhost", 5), std::invalid_argument);
  BOOST_CHECK_THROW((void)numeric_address("", 5), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
