// How nodes of a step reach each other: on one host as `troupe up` does it, on several encrypted.
#include "node/engines/engine_network.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/links/tcp_place.h"
#include "tests/support/expect_throw.h"

namespace troupe::detail {
namespace {

using troupe::testing::expect_throw;

ClusterConfig config_of_step() {
  ClusterConfig config;
  RoleConfig role;
  role.name = "ps";
  role.count = 2;
  role.command = {"sh"};
  config.roles = {role};
  return config;
}

EnginePlace place_of(std::size_t rank, bool several_hosts) {
  EnginePlace place;
  place.rank = rank;
  place.tasks = 2;
  place.several_hosts = several_hosts;
  return place;
}

std::vector<std::string> problems_of(ClusterConfig config, bool several_hosts) {
  const EnginePlace place = place_of(0, several_hosts);
  try {
    const EngineNetwork network(config, place);
  } catch (const ConfigError& error) {
    return error.lines();
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(engine_network)

BOOST_AUTO_TEST_CASE(on_one_host_nodes_meet_at_unix_sockets) {
  ClusterConfig config = config_of_step();
  const EnginePlace place = place_of(1, false);
  EngineNetwork network(config, place);
  BOOST_TEST(!network.encrypts());
  BOOST_TEST(network.listen_first("12ab", {}) == "ipc://@troupe-12ab-ps0");
  BOOST_TEST(network.address("12ab", "ps1", "ipc://@troupe-12ab-ps0") == "ipc://@troupe-12ab-ps1");
  BOOST_TEST(!network.reservation().is_open());
  BOOST_TEST(config.node.network == "auto");
}

BOOST_AUTO_TEST_CASE(on_one_host_tcp_stays_on_loopback_at_a_port_that_rank_0_keeps) {
  ClusterConfig config = config_of_step();
  config.transport = Transport::tcp;
  const EnginePlace first = place_of(0, false);
  EngineNetwork network(config, first);
  const std::string seed = network.listen_first("12ab", {});
  BOOST_TEST(seed.starts_with("tcp://127.0.0.1:"));
  BOOST_TEST(!seed.ends_with(":0"));
  BOOST_TEST(network.address("12ab", "ps0", seed) == seed);
  BOOST_TEST(network.reservation().is_open());
  const EnginePlace second = place_of(1, false);
  BOOST_TEST(EngineNetwork(config, second).address("12ab", "ps1", seed) == "tcp://127.0.0.1:*");
}

BOOST_AUTO_TEST_CASE(on_several_hosts_nodes_have_keys_unless_the_network_is_trusted) {
  ClusterConfig config = config_of_step();
  const EnginePlace place = place_of(0, true);
  BOOST_TEST(EngineNetwork(config, place).encrypts());
  BOOST_TEST((config.transport == Transport::tcp));
  BOOST_TEST(config.node.network == "keys");
  ClusterConfig trusting = config_of_step();
  trusting.node.network = "trusted";
  BOOST_TEST(!EngineNetwork(trusting, place).encrypts());
  BOOST_TEST(trusting.node.network == "trusted");
}

BOOST_AUTO_TEST_CASE(on_several_hosts_what_is_for_one_is_refused) {
  ClusterConfig config = config_of_step();
  config.transport_origin = {Origin::Layer::file, "c.toml:3"};
  config.network_origin = {Origin::Layer::file, "c.toml:4"};
  config.advertise_origin = {Origin::Layer::file, "c.toml:5"};
  config.node.network = "loopback";
  config.node.advertise = "10.0.0.9";
  const std::vector<std::string> expected{
      "c.toml:3: cluster.transport: nodes on several hosts reach each other by \"tcp\" only",
      "c.toml:4: cluster.network: \"loopback\" is one machine, and this step has several: leave network out, and nodes "
      "encrypt with keys of this run",
      "c.toml:5: cluster.advertise = \"10.0.0.9\" is for one node, and all nodes would get it; set it for a node that "
      "is "
      "started by itself (`troupe node --keys`)"};
  BOOST_TEST(problems_of(config, true) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_for_one_node_is_refused_on_one_host_too) {
  ClusterConfig config = config_of_step();
  config.node.advertise = "10.0.0.9";
  for (const Transport transport : {Transport::ipc, Transport::tcp}) {
    config.transport = transport;
    const std::vector<std::string> problems = problems_of(config, false);
    BOOST_TEST_REQUIRE(problems.size() == 1U);
    BOOST_TEST(problems.front().starts_with("built-in default: cluster.advertise = \"10.0.0.9\" is for one node"));
  }
}

BOOST_AUTO_TEST_CASE(ports_may_be_named_for_steps_of_several_hosts_that_run_on_one) {
  ClusterConfig config = config_of_step();
  config.port = 29500;
  config.node.ports = "29500-29599";
  BOOST_TEST(problems_of(config, false).empty());
}

BOOST_AUTO_TEST_CASE(hosts_of_the_file_are_refused) {
  ClusterConfig config = config_of_step();
  HostConfig host;
  host.name = "alpha";
  host.name_origin = {Origin::Layer::file, "c.toml:7"};
  config.hosts = {host};
  const std::vector<std::string> expected{"c.toml:7: host.alpha: [[host]] is for `troupe up`; srun has its own hosts"};
  BOOST_TEST(problems_of(config, false) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_address_of_one_machine_alone_is_refused_on_several_hosts) {
  ClusterConfig config = config_of_step();
  config.node.address = "127.0.1.1";
  const EnginePlace first = place_of(0, true);
  EngineNetwork network(config, first);
  const std::string text =
      "cluster.address = \"127.0.1.1\" is 127.0.1.1, which other hosts cannot reach: set cluster.address";
  expect_throw<std::invalid_argument>([&] { return network.listen_first("12ab", {"localhost"}); }, text);
  config.node.address.clear();
  const EnginePlace second = place_of(1, true);
  const EngineNetwork other(config, second);
  expect_throw<std::invalid_argument>(
      [&] { return other.address("12ab", "ps1", "tcp://127.0.0.1:9"); },
      "the address toward tcp://127.0.0.1:9 is 127.0.0.1, which other hosts cannot reach: set cluster.address");
}

BOOST_AUTO_TEST_CASE(one_address_is_the_only_one_if_it_is_of_ipv4_or_none_is) {
  const InterfaceAddress four{"10.0.0.7", false};
  const InterfaceAddress six{"fd00::7", true};
  BOOST_TEST(only_of({four}) == "10.0.0.7");
  BOOST_TEST(only_of({six, four, six}) == "10.0.0.7");
  BOOST_TEST(only_of({six}) == "fd00::7");
  for (const auto& several : {std::vector<InterfaceAddress>{}, {four, four}, {six, six}, {four, six, four}})
    BOOST_TEST(only_of(several).empty());
}

BOOST_AUTO_TEST_CASE(the_only_address_is_none_of_loopback) {
  const std::string only = only_address();
  BOOST_TEST((only.empty() || !is_loopback(only)), only);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
