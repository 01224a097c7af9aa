#include "node/joining/host_names.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(host_names)

using namespace std::chrono_literals;
using Addresses = std::vector<std::string>;

TimePoint in(Duration time) { return std::chrono::steady_clock::now() + time; }

Error unknown_host() { return Error{.code = ErrorCode::peer_unreachable, .message = "nobody knows it"}; }

BOOST_AUTO_TEST_CASE(seed_without_a_host_name_is_taken_as_it_is) {
  const HostLookup never = [](const std::string& host) -> Result<Addresses> {
    BOOST_ERROR("looked up " + host);
    return unknown_host();
  };
  for (const std::string seed :
       {"tcp://127.0.0.1:4711", "tcp://[::1]:4711", "ipc://@name", "ipc:///run/my node", "carrier://loft:9"}) {
    BOOST_TEST(addresses_of(seed, in(0ms), never).value() == Addresses{seed}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(every_address_of_a_host_is_tried_at_the_port) {
  const HostLookup two = [](const std::string& host) -> Result<Addresses> {
    BOOST_TEST(host == "ps.example");
    return Addresses{"10.0.0.7", "[fd00::7]"};
  };
  const Addresses expected{"tcp://10.0.0.7:4711", "tcp://[fd00::7]:4711"};
  BOOST_TEST(addresses_of("tcp://ps.example:4711", in(1s), two).value() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(host_that_is_not_known_yet_is_looked_up_again) {
  int asked = 0;
  const HostLookup third_time = [&asked](const std::string&) -> Result<Addresses> {
    if (++asked < 3) return unknown_host();
    return Addresses{"10.0.0.7"};
  };
  BOOST_TEST(addresses_of("tcp://ps:1", in(20s), third_time).value() == Addresses{"tcp://10.0.0.7:1"},
             boost::test_tools::per_element());
  BOOST_TEST(asked == 3);
}

BOOST_AUTO_TEST_CASE(own_name_that_is_not_known_yet_is_looked_up_again) {
  int asked = 0;
  const HostLookup third_time = [&asked](const std::string& host) -> Result<Addresses> {
    BOOST_TEST(host == "ps-0.demo");
    if (++asked < 3) return unknown_host();
    return Addresses{"fd00::7", "10.0.0.7"};
  };
  BOOST_TEST(own_numbers_of("ps-0.demo", in(20s), third_time).value() == "fd00::7");
  BOOST_TEST(asked == 3);
  for (const char* numbers : {"*", "10.0.0.7", "::", "fd00::7"})
    BOOST_TEST(own_numbers_of(numbers, in(0ms), third_time).value() == numbers);
  BOOST_TEST(asked == 3);
  BOOST_TEST(own_numbers_of("lo", in(20s)).value() == "127.0.0.1");  // an interface
}

BOOST_AUTO_TEST_CASE(own_name_that_stays_unknown_is_named_with_the_reason) {
  const Error error = own_numbers_of("ps-0.demo", in(10ms), [](const std::string&) -> Result<Addresses> {
                        return unknown_host();
                      }).error();
  BOOST_TEST((error.code == ErrorCode::peer_unreachable));
  BOOST_TEST(error.message == "the host name \"ps-0.demo\" cannot be resolved: nobody knows it");
}

BOOST_AUTO_TEST_CASE(host_that_stays_unknown_is_named_with_the_reason) {
  const Error error = addresses_of("tcp://ps.example:1", in(10ms), [](const std::string&) -> Result<Addresses> {
                        return unknown_host();
                      }).error();
  BOOST_TEST((error.code == ErrorCode::peer_unreachable));
  BOOST_TEST(error.message == "the host name \"ps.example\" cannot be resolved: nobody knows it");
  BOOST_TEST(error.endpoint == "tcp://ps.example:1");
}

BOOST_AUTO_TEST_CASE(lookup_that_never_ends_does_not_keep_the_caller) {
  const auto end = std::make_shared<std::promise<void>>();
  const Error error = addresses_of("tcp://ps.example:1", in(20ms), [end](const std::string&) -> Result<Addresses> {
                        end->get_future().wait();
                        return unknown_host();
                      }).error();
  BOOST_TEST(error.message == "the host name \"ps.example\" cannot be resolved: no answer");
  end->set_value();
}

BOOST_AUTO_TEST_CASE(seed_without_a_port_is_refused) {
  for (const std::string seed :
       {"tcp://ps.example", "tcp://:1", "tcp://ps.example:*", "tcp://ps.example:0", "tcp://ps.example:65536"}) {
    const Error error = addresses_of(seed, in(1s)).error();
    BOOST_TEST((error.code == ErrorCode::bad_argument));
    BOOST_TEST(error.message == "\"" + seed + "\" is not tcp://HOST:PORT");
  }
}

BOOST_AUTO_TEST_CASE(system_knows_this_host) {
  const Addresses addresses = look_up_host("localhost").value();
  BOOST_TEST((std::ranges::count(addresses, "127.0.0.1") == 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
