// Which host each node gets.
#include "node/hosts/placement.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(placement)

namespace {

HostConfig host(const std::string& name, int slots = 0) {
  HostConfig result;
  result.name = name;
  result.slots = slots;
  return result;
}

RoleConfig role(const std::string& name, int count, RolePlacement how, std::vector<std::string> hosts = {}) {
  RoleConfig result;
  result.name = name;
  result.count = count;
  result.placement = how;
  result.hosts = std::move(hosts);
  result.count_origin = {Origin::Layer::file, "cluster.toml:9", 9};
  return result;
}

/// Returns the names of the hosts that the nodes get, in order of rank: "abba".
std::string placed(std::vector<HostConfig> hosts, std::vector<RoleConfig> roles) {
  ClusterConfig config;
  config.hosts = std::move(hosts);
  config.roles = std::move(roles);
  std::string result;
  for (const std::size_t each : place_nodes(config)) result += config.hosts[each].name;
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(spread_takes_the_host_with_the_fewest_processes) {
  BOOST_TEST(placed({host("a"), host("b")},
                    {role("ps", 1, RolePlacement::spread), role("t", 4, RolePlacement::spread)}) == "ababa");
  BOOST_TEST(placed({host("a", 1), host("b"), host("c", 2)}, {role("t", 6, RolePlacement::spread)}) == "abcbcb");
}

BOOST_AUTO_TEST_CASE(pack_fills_one_host_after_the_other) {
  BOOST_TEST(placed({host("a", 2), host("b", 3)}, {role("t", 5, RolePlacement::pack)}) == "aabbb");
  BOOST_TEST(placed({host("a", 2), host("b", 3)},
                    {role("ps", 1, RolePlacement::spread), role("t", 3, RolePlacement::pack)}) == "aabb");
  BOOST_TEST(placed({host("a"), host("b")}, {role("t", 3, RolePlacement::pack)}) == "aaa");
}

BOOST_AUTO_TEST_CASE(per_host_gives_each_the_same_number_in_a_row) {
  BOOST_TEST(placed({host("a"), host("b"), host("c")}, {role("t", 6, RolePlacement::per_host)}) == "aabbcc");
}

BOOST_AUTO_TEST_CASE(a_role_stays_on_its_hosts) {
  BOOST_TEST(placed({host("a"), host("b"), host("c")}, {role("ps", 1, RolePlacement::spread, {"c"}),
                                                        role("t", 4, RolePlacement::per_host, {"b", "a"})}) == "caabb");
}

BOOST_AUTO_TEST_CASE(too_few_slots_are_refused_with_what_is_used) {
  for (const RolePlacement how : {RolePlacement::spread, RolePlacement::pack}) {
    BOOST_CHECK_EXCEPTION((void)placed({host("a", 1), host("b", 2)}, {role("t", 4, how)}), ConfigError,
                          [](const ConfigError& error) {
                            return error.lines() == std::vector<std::string>{
                                                        "cluster.toml:9: role.count: no slot is left for t3; used are "
                                                        "a (1 of 1), b (2 of 2)"};
                          });
  }
  BOOST_CHECK_THROW((void)placed({host("a", 1), host("b", 2)}, {role("t", 4, RolePlacement::per_host)}), ConfigError);
}

BOOST_AUTO_TEST_CASE(an_address_that_all_hosts_would_share_is_refused_with_what_has_set_it) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() / "c.toml";
  std::ofstream(file) << R"([cluster]
address = "192.0.2.9"
[[host]]
name = "a"
[[host]]
name = "b"
[[role]]
name = "ps"
command = ["./ps"]
)";
  const std::string of_one_machine =
      file + ":2: cluster.address = \"192.0.2.9\" is for one machine; with [[host]], each has host.address";
  BOOST_TEST(addresses_of_all_hosts(load_config(file, {}, {})) == std::vector<std::string>{of_one_machine});
  const Variables variables{{"TROUPE__CLUSTER__ADVERTISE", "r:1"}, {"TROUPE__CLUSTER__ADDRESS", ""}};
  const std::vector<std::string> problems = addresses_of_all_hosts(load_config(file, variables, {}));
  BOOST_TEST_REQUIRE(problems.size() == 1U);
  BOOST_TEST(
      problems.front().starts_with("environment TROUPE__CLUSTER__ADVERTISE: cluster.advertise = \"r:1\" is for "
                                   "one node, and all nodes would get it"));
}

BOOST_AUTO_TEST_SUITE_END()
