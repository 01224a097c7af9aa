// What each host is told: programs, folders, variables, GPUs, keys, and which network they use.
#include "node/hosts/host_plan.h"

#include <sys/stat.h>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "node/hosts/agent_frames.h"
#include "node/hosts/host_programs.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

using namespace troupe::detail;

/// Two hosts, "a" reached as a.example, and "b", with a folder and two GPUs; one program beside the file.
struct Plans : TemporaryDirectory {
  Plans() {
    std::ofstream(path() / "trainer") << "#!/bin/sh\n";
    chmod((path() / "trainer").c_str(), 0700);
    config.directory = path();
    config.transport = Transport::tcp;
    config.port = 29500;
    config.hosts.resize(2);
    config.hosts[0].name = "a";
    config.hosts[0].reached_as = "a.example";
    config.hosts[1].name = "b";
    config.hosts[1].working_dir = "/srv";
    config.hosts[1].gpus = 2;
    config.hosts[1].env = {{"WHERE", "b"}, {"WHO", "host"}};
    RoleConfig role;
    role.name = "t";
    role.count = 6;
    role.command = {"./trainer", "--fast"};
    role.env = {{"WHO", "role"}};
    config.roles = {role};
  }

  std::vector<HostPlan> plan(std::vector<KeyRing> keys = {}) {
    std::vector<std::string> names;
    for (int i = 0; i < 6; ++i) names.push_back("t" + std::to_string(i));
    return plan_hosts({config, "id", network_of_hosts(config), names, std::vector<Variables>(6), std::move(keys)});
  }

  ClusterConfig config;
};

/// Returns the errors of a plan.
std::vector<std::string> problems_of(Plans& plans) {
  try {
    (void)plans.plan();
  } catch (const ConfigError& error) {
    return error.lines();
  }
  return {};
}

BOOST_FIXTURE_TEST_SUITE(host_plan, Plans)

BOOST_AUTO_TEST_CASE(each_host_gets_its_nodes_with_programs_where_they_are_there) {
  const std::vector<HostPlan> plans = plan();
  BOOST_TEST_REQUIRE(plans.size() == 2u);
  BOOST_TEST(plans[0].nodes == (std::vector<std::size_t>{0, 2, 4}));
  BOOST_TEST(plans[1].nodes == (std::vector<std::size_t>{1, 3, 5}));
  BOOST_TEST_REQUIRE(plans[0].prepare.programs.size() == 1u);
  BOOST_TEST(plans[0].prepare.programs[0].path == path() / "trainer");
  BOOST_TEST(plans[1].prepare.programs[0].path == "/srv/trainer");
  BOOST_TEST(plans[1].prepare.programs[0].hash == hash_of_file(path() / "trainer"));
  BOOST_TEST(plans[1].programs_here.at(0) == path() / "trainer");
  const AgentNode& node = plans[1].start.nodes.at(2);
  BOOST_TEST(node.name == "t5");
  BOOST_TEST(node.arguments == (std::vector<std::string>{"--fast"}));
  BOOST_TEST(node.working_dir == "/srv");
  BOOST_TEST(node.variables.at("CUDA_VISIBLE_DEVICES") == "0");
  BOOST_TEST(plans[1].start.nodes.at(1).variables.at("CUDA_VISIBLE_DEVICES") == "1");
  BOOST_TEST(plans[1].start.variables.at("WHERE") == "b");
  BOOST_TEST(plans[1].start.variables.at("WHO") == "role");
  BOOST_TEST(plans[0].start.nodes.at(0).working_dir == std::filesystem::current_path());
}

BOOST_AUTO_TEST_CASE(the_first_host_finds_an_address_toward_the_others) {
  config.hosts[1].address = "10.0.0.2";
  const std::vector<HostPlan> plans = plan();
  BOOST_TEST_REQUIRE(plans[0].prepare.seed.has_value());
  BOOST_TEST(plans[0].prepare.seed->port == 29500);
  BOOST_TEST(plans[0].prepare.seed->toward == std::vector<std::string>{"10.0.0.2"});
  BOOST_TEST(!plans[1].prepare.seed.has_value());
  BOOST_TEST(plans[1].start.address == "10.0.0.2");
}

BOOST_AUTO_TEST_CASE(several_hosts_use_keys_unless_the_file_says_otherwise) {
  BOOST_TEST(network_of_hosts(config) == "keys");
  config.node.network = "trusted";
  BOOST_TEST(network_of_hosts(config) == "trusted");
  config.node.network = "auto";
  config.hosts.pop_back();
  BOOST_TEST(network_of_hosts(config) == "loopback");
  config.hosts[0].address = "eth0";
  BOOST_TEST(network_of_hosts(config) == "keys");
  config.transport = Transport::ipc;
  BOOST_TEST(network_of_hosts(config) == "loopback");
}

BOOST_AUTO_TEST_CASE(each_node_gets_its_own_keys) {
  const std::vector<NodeName> names{"t0", "t1", "t2", "t3", "t4", "t5"};
  const std::vector<HostPlan> plans = plan(make_run_keys(names));
  BOOST_TEST_REQUIRE(plans[1].keys.size() == 3u);
  BOOST_TEST(plans[1].keys[2].own_name() == "t5");
  BOOST_TEST(plans[0].keys[1].own_name() == "t2");
}

BOOST_AUTO_TEST_CASE(a_host_without_nodes_is_left_alone) {
  config.roles[0].hosts = {"b"};
  const std::vector<HostPlan> plans = plan();
  BOOST_TEST_REQUIRE(plans.size() == 1u);
  BOOST_TEST(plans[0].name == "b");
}

BOOST_AUTO_TEST_CASE(silence_has_no_consequences_while_debugging) {
  BOOST_TEST(plan()[0].prepare.lease.count() == 10'000);
  config.node.debug = true;
  BOOST_TEST(plan()[0].prepare.lease.count() == 0);
}

BOOST_AUTO_TEST_CASE(variables_that_all_nodes_of_a_host_have_alike_are_told_once) {
  RoleConfig other = config.roles[0];
  other.name = "u";
  other.count = 1;
  other.env = {{"WHO", "other"}, {"ALONE", "1"}};
  config.roles[0].count = 5;
  config.roles.push_back(other);
  const std::vector<HostPlan> plans = plan();
  const AgentStart& start = plans[1].start;  // two of t, one of u
  BOOST_TEST_REQUIRE(start.nodes.size() == 3u);
  BOOST_TEST((start.variables == Variables{{"WHERE", "b"}}));
  BOOST_TEST((start.nodes[0].variables == Variables{{"CUDA_VISIBLE_DEVICES", "0"}, {"WHO", "role"}}));
  BOOST_TEST((start.nodes[2].variables == Variables{{"ALONE", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"WHO", "other"}}));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_over_hosts_is_refused) {
  config.roles[0].command = {"./none"};
  config.node.address = "eth0";
  const std::vector<std::string> wrong = problems_of(*this);
  BOOST_TEST_REQUIRE(wrong.size() == 2u);
  BOOST_TEST(wrong[0].find("with [[host]], each has host.address") != std::string::npos);
  BOOST_TEST(wrong[1].find("no program \"./none\" in ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_order_that_no_agent_takes_is_refused) {
  config.roles[0].env = {{"LARGE", std::string(AgentFrameReader::kBodyMax, 'x')}};
  const std::vector<std::string> large = problems_of(*this);
  BOOST_TEST_REQUIRE(large.size() == 2u);
  BOOST_TEST(large[1].find("host b: names, arguments and variables of its 3 nodes have 83") != std::string::npos);
  config.roles[0].env = {{"NO_TEXT", "\xff"}};
  const std::vector<std::string> no_text = problems_of(*this);
  BOOST_TEST_REQUIRE(no_text.size() == 2u);
  BOOST_TEST(no_text[0].find("host a: paths, arguments and variables for other hosts must be UTF-8") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_program_whose_path_no_agent_takes_is_refused) {
  config.directory = path() / "caf\xe9";
  std::filesystem::create_directory(config.directory);
  std::filesystem::copy(path() / "trainer", config.directory);
  const std::vector<std::string> no_text = problems_of(*this);
  BOOST_TEST_REQUIRE(no_text.size() == 1u);  // b has it below /srv
  BOOST_TEST(no_text[0].find("host a: paths, arguments and variables for other hosts must be UTF-8") !=
             std::string::npos);
  config.directory = path();
  config.hosts[1].working_dir = "/" + std::string(AgentFrameReader::kBodyMax / 2, 'x');
  config.roles.push_back(config.roles[0]);
  config.roles[0].count = config.roles[1].count = 3;
  config.roles[1].name = "u";
  for (RoleConfig& role : config.roles) role.working_dir = "/";
  const std::vector<std::string> large = problems_of(*this);
  BOOST_TEST_REQUIRE(large.size() == 1u);
  BOOST_TEST(large[0].find("host b: the paths of its 2 programs have 83") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
