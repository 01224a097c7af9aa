// Where a host listens for others.
#include "node/doctor/reach_listener.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

#include "node/launch/reserved_port.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(reach_listener)

namespace {

const std::string kToken(kTokenSize, 't');

ListenOrder order_of(const std::string& address, const std::string& ports = {}) {
  return {.address = address, .network = "loopback", .ports = ports, .token = kToken};
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_listens_where_a_node_would) {
  const ReachListener given(order_of("127.0.0.2"), {});
  BOOST_TEST(given.listening().address == "127.0.0.2");
  BOOST_TEST(given.listening().port > 0u);
  BOOST_TEST(given.listening().stream_port == 0u);
  BOOST_TEST(given.listening().ports.tried == 0u);
  ListenOrder toward = order_of("");
  toward.first = "tcp://127.0.0.3:5";
  BOOST_TEST(ReachListener(toward, {}).listening().address.starts_with("127.0.0."));
  ListenOrder by_ssh = order_of("");
  by_ssh.network = "keys";
  // The address at which sshd was reached. It is not this machine's, so that no port of it can be used.
  BOOST_CHECK_THROW(ReachListener(by_ssh, {{"SSH_CONNECTION", "198.51.100.1 5 198.51.100.2 22"}}), std::system_error);
}

BOOST_AUTO_TEST_CASE(an_address_that_others_cannot_reach_is_refused) {
  ListenOrder order = order_of("127.0.0.1");
  order.network = "keys";
  BOOST_CHECK_THROW(ReachListener(order, {}), std::invalid_argument);
  BOOST_CHECK_THROW(ReachListener(order_of("no such name."), {}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(it_takes_a_free_port_of_the_range_and_counts_them) {
  const ReservedPort one = reserve_port("127.0.0.1", 0);
  const std::string range = one.number + "-" + one.number;
  const ReachListener listener(order_of("127.0.0.1", range), {});
  BOOST_TEST(std::to_string(listener.listening().port) == one.number);
  BOOST_CHECK((listener.listening().ports == PortCount{1, 1}));
  ListenOrder again = order_of("127.0.0.1");
  again.port = listener.listening().port;
  BOOST_CHECK_THROW(ReachListener(again, {}), std::system_error);
}

BOOST_AUTO_TEST_CASE(streams_without_a_free_port_have_none) {
  const ReservedPort one = reserve_port("127.0.0.1", 0);
  ListenOrder order = order_of("127.0.0.1");
  order.stream_ports = one.number + "-" + one.number;
  const ReachListener first(order, {});
  BOOST_TEST(std::to_string(first.listening().stream_port) == one.number);
  const ReachListener second(order, {});
  BOOST_TEST(second.listening().stream_port == 0u);
  BOOST_CHECK((second.listening().stream_ports == PortCount{1, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
