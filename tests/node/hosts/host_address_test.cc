// Where the nodes of a host listen: only where the network says, and where others reach them.
#include "node/hosts/host_address.h"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "node/links/tcp_place.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(host_address)

namespace {

std::string seed_of(std::string_view address, std::string_view network, const Variables& variables = {},
                    const std::vector<std::string>& toward = {}) {
  return seed_address({address, toward, network, variables});
}

/// Returns the text of the error; empty if there is none.
template <class Call>
std::string error_of(const Call& call) {
  try {
    (void)call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

}  // namespace

BOOST_AUTO_TEST_CASE(sshd_says_at_which_address_it_was_reached) {
  BOOST_TEST(address_of_ssh({{"SSH_CONNECTION", "10.0.0.9 51234 10.0.0.1 22"}}) == "10.0.0.1");
  BOOST_TEST(address_of_ssh({{"SSH_CONNECTION", "fe80::1 51234 fe80::2 22"}}) == "fe80::2");
  for (const char* none : {"", "10.0.0.9", "10.0.0.9 51234", "10.0.0.9 51234 "}) {
    BOOST_TEST(address_of_ssh({{"SSH_CONNECTION", none}}).empty());
  }
  BOOST_TEST(address_of_ssh({}).empty());
  BOOST_TEST(seed_of("", "trusted", {{"SSH_CONNECTION", "10.0.0.9 51234 10.0.0.1 22"}}) == "10.0.0.1");
}

BOOST_AUTO_TEST_CASE(on_loopback_nodes_stay_on_this_machine) {
  BOOST_TEST(seed_of("", "loopback") == "127.0.0.1");
  BOOST_TEST(seed_of("127.0.0.2", "loopback") == "127.0.0.2");
  BOOST_TEST(error_of([] {
               return seed_of("198.51.100.7", "loopback");
             }).starts_with("host.address = \"198.51.100.7\" can be reached from other machines"));
  BOOST_TEST(node_address("", "tcp://127.0.0.5:9", "loopback").starts_with("127."));
}

BOOST_AUTO_TEST_CASE(over_a_network_addresses_of_this_machine_alone_are_refused) {
  const std::string seed = error_of([] { return seed_of("127.0.1.1", "trusted"); });
  BOOST_TEST(seed == "host.address = \"127.0.1.1\" is 127.0.1.1, which other hosts cannot reach: set host.address");
  BOOST_TEST(error_of([] { return node_address("", "tcp://127.0.0.1:9", "trusted"); }).find("cannot reach") !=
             std::string::npos);
  BOOST_TEST(error_of([] {
               return seed_of("", "trusted", {{"SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22"}});
             }) == "no address of this host is known that others reach: set host.address");
}

BOOST_AUTO_TEST_CASE(addresses_of_one_wire_are_not_those_that_others_reach) {
  const Variables ssh{{"SSH_CONNECTION", "fe80::1%eth0 51234 fe80::2%eth0 22"}};
  const std::string none = "no address of this host is known that others reach: set host.address";
  BOOST_TEST(error_of([&] { return seed_of("", "trusted", ssh); }) == none);
  // This machine reaches those from its own address of that wire.
  BOOST_TEST(error_of([&] { return seed_of("", "trusted", ssh, {"fe80::1%lo", "fe80::1%eth0"}); }) == none);
  if (const auto own = own_address_toward("198.51.100.7"); own && !is_loopback(*own)) {
    BOOST_TEST(seed_of("", "trusted", ssh, {"198.51.100.7"}) == *own);
  }
}

BOOST_AUTO_TEST_CASE(all_addresses_at_once_are_refused) {
  for (const char* any : {"*", "0.0.0.0", "::"}) {
    BOOST_TEST(error_of([&] { return seed_of(any, "trusted"); }).ends_with("one address, not all of them"));
    BOOST_TEST(error_of([&] { return node_address(any, "tcp://10.0.0.1:9", "trusted"); }).ends_with("not all of them"));
  }
}

// Each name takes as long as the resolver waits for an answer.
BOOST_AUTO_TEST_CASE(a_resolver_that_does_not_answer_is_asked_for_few_names_and_each_is_told_before) {
  std::vector<std::string> events;
  const NameLookup look_up{.before = [&](std::string_view name) { events.push_back("before " + std::string(name)); },
                           .numbers = [&](const std::string& name) -> std::string {
                             events.push_back(name);
                             throw std::invalid_argument("no answer");
                           }};
  const Variables variables;
  const std::vector<std::string> toward{"a", "b", "c", "d", "e"};
  BOOST_TEST(error_of([&] {
               return seed_address({"", toward, "trusted", variables, "host.address", look_up});
             }) == "no address of this host is known that others reach: set host.address");
  const std::vector<std::string> expected{"before a", "a", "before b", "b", "before c", "c"};
  BOOST_TEST(events == expected, boost::test_tools::per_element());
  BOOST_TEST(error_of([&] { return node_address("name", "tcp://10.0.0.1:9", "trusted", "host.address", look_up); }) ==
             "no answer");
  BOOST_TEST(events.back() == "name");
}

BOOST_AUTO_TEST_CASE(names_that_do_not_exist_are_refused_with_the_reason) {
  BOOST_TEST(!error_of([] { return seed_of("no such host", "trusted"); }).empty());
  BOOST_TEST(error_of([] { return node_address("", "ipc://x", "trusted"); }) ==
             "\"ipc://x\" is not an address of the first node");
}

BOOST_AUTO_TEST_SUITE_END()
