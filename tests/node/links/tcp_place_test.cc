#include "node/links/tcp_place.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(tcp_place)

BOOST_AUTO_TEST_CASE(place_is_read_and_written_alike) {
  for (const std::string text :
       {"tcp://127.0.0.1:80", "tcp://eth0:*", "tcp://[fd77::1]:65535", "tcp://*:0", "tcp://node-1.example:1"}) {
    const auto place = TcpPlace::parse(text);
    BOOST_TEST_REQUIRE(place.has_value(), text);
    BOOST_TEST(place->text() == text);
  }
  BOOST_TEST(TcpPlace::parse("tcp://[fd77::1]:7")->host == "fd77::1");
  BOOST_TEST(TcpPlace::parse("tcp://[fd77::1]:7")->port == "7");
}

BOOST_AUTO_TEST_CASE(what_is_no_place_is_not_read) {
  for (const std::string text :
       {"", "ipc://@a", "tcp://", "tcp://host", "tcp://:80", "tcp://host:", "tcp://host:65536", "tcp://host:-1",
        "tcp://host:-0", "tcp://[[::1]]:80", "tcp://a]:80", "tcp://host:8x", "tcp://fd77::1:80", "tcp://[]:80"}) {
    BOOST_TEST(!TcpPlace::parse(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_CASE(loopback_is_a_number_of_this_machine_alone) {
  for (const std::string host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"})
    BOOST_TEST(is_loopback(host), host);
  for (const std::string host :
       {"0.0.0.0", "*", "::", "10.0.0.1", "::ffff:10.0.0.1", "fd77::1", "localhost", "127.evil.example", "lo", ""}) {
    BOOST_TEST(!is_loopback(host), host);
  }
}

BOOST_AUTO_TEST_CASE(advertised_place_is_one_that_peers_can_connect_to) {
  BOOST_TEST(advertised_place("tcp://lo:80").text() == "tcp://127.0.0.1:80");
  BOOST_TEST(advertised_place("tcp://[fd77::1]:*").text() == "tcp://[fd77::1]:*");
  BOOST_TEST(advertised_place("tcp://10.0.0.1:0").text() == "tcp://10.0.0.1:*");
  const auto refusal = [](const std::string& text) {
    try {
      return advertised_place(text).text();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  for (const std::string text : {"tcp://0.0.0.0:80", "tcp://*:80", "tcp://[::]:*"})
    BOOST_TEST(refusal(text) == "advertise: peers cannot connect to \"" + text + "\"");
  BOOST_TEST(refusal("10.0.0.1") == "advertise: \"10.0.0.1\" is not tcp://HOST:PORT");
}

BOOST_AUTO_TEST_CASE(link_local_is_a_number_of_one_wire) {
  for (const std::string host : {"fe80::1", "fe80::1%eth0", "FE80::aa%2", "febf::1"}) {
    BOOST_TEST(is_link_local(host), host);
  }
  for (const std::string host : {"fec0::1", "fd77::1", "fd77::1%eth0", "::1", "169.254.0.1", "fe80", "%eth0", ""}) {
    BOOST_TEST(!is_link_local(host), host);
  }
}

BOOST_AUTO_TEST_CASE(numbers_of_an_interface_a_name_and_a_number) {
  BOOST_TEST(numbers_of("lo") == "127.0.0.1");
  BOOST_TEST(numbers_of("localhost") == "127.0.0.1");
  BOOST_TEST(numbers_of("10.1.2.3") == "10.1.2.3");
  BOOST_TEST(numbers_of("fd77::1") == "fd77::1");
  BOOST_TEST(numbers_of("*") == "*");
  BOOST_TEST(numbers_of("2130706433") == "127.0.0.1");  // 0x7f000001
  BOOST_CHECK_EXCEPTION(static_cast<void>(numbers_of("no.such.host.invalid")), std::invalid_argument,
                        [](const std::invalid_argument& error) {
                          return std::string(error.what())
                              .starts_with("\"no.such.host.invalid\" is no interface of this machine, and as a host: ");
                        });
}

BOOST_AUTO_TEST_CASE(packets_to_this_machine_leave_from_itself) {
  BOOST_TEST(own_address_toward("127.0.0.1").value() == "127.0.0.1");
  BOOST_TEST(!own_address_toward("a name").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
