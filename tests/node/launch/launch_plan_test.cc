// The launch plan: addresses over tcp, and a port that stays free for the seed.
#include "node/launch/launch_plan.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "node/hosts/agent_frames.h"
#include "node/launch/node_variables.h"
#include "node/launch/reserved_port.h"
#include "node/links/tcp_place.h"
#include "tests/support/dumpable_after.h"

using namespace troupe;
using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(launch_plan)

namespace {

ClusterConfig two_nodes() {
  ClusterConfig config;
  config.directory = "/";
  config.transport = Transport::tcp;
  RoleConfig role;
  role.name = "ps";
  role.count = 2;
  role.command = {"sh"};
  config.roles = {role};
  return config;
}

int listen_at(int port) {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno;
  return listen(listener.get(), 1) == 0 ? 0 : errno;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_seed_can_listen_at_the_port_that_was_found_for_it) {
  const LaunchPlan plan = plan_launch(two_nodes(), {.variables = {}, .cores = 5});
  const std::string seed = plan.nodes.at(0).child.environment.at("TROUPE_SEED");
  BOOST_TEST(seed.starts_with("tcp://127.0.0.1:"));
  BOOST_TEST(listen_at(std::stoi(seed.substr(seed.rfind(':') + 1))) == 0);
  BOOST_TEST(plan.nodes[0].child.environment.at("TROUPE_ADDRESS") == seed);
  BOOST_TEST(plan.nodes[1].child.environment.at("TROUPE_ADDRESS") == "tcp://127.0.0.1:*");
  BOOST_TEST(plan.nodes[1].child.environment.at("TROUPE_SEED") == seed);
}

BOOST_AUTO_TEST_CASE(seeds_of_clusters_that_start_together_get_different_ports_of_the_range) {
  const int low = std::min(std::stoi(reserve_port("127.0.0.1", 0).number), 65'526);
  ClusterConfig config = two_nodes();
  config.node.ports = fmt::format("{}-{}", low, low + 9);
  const LaunchPlan one = plan_launch(config, {.variables = {}, .cores = 1});
  const LaunchPlan other = plan_launch(config, {.variables = {}, .cores = 1});
  const auto port_of = [](const LaunchPlan& plan) {
    const std::string& seed = plan.nodes.at(0).child.environment.at("TROUPE_SEED");
    return std::stoi(seed.substr(seed.rfind(':') + 1));
  };
  for (const LaunchPlan* plan : {&one, &other}) {
    BOOST_TEST(port_of(*plan) >= low);
    BOOST_TEST(port_of(*plan) <= low + 9);
    BOOST_TEST(listen_at(port_of(*plan)) == 0);
    BOOST_TEST(plan->nodes.at(1).child.environment.at("TROUPE__CLUSTER__PORTS") == config.node.ports);
  }
  BOOST_TEST(port_of(one) != port_of(other));
}

BOOST_AUTO_TEST_CASE(a_thousand_nodes_of_one_host_fit_the_order_to_its_agent) {
  ClusterConfig config = two_nodes();
  config.hosts.resize(1);
  config.hosts[0].name = "a";
  config.roles.resize(1);
  config.roles[0].name = "parameter_server";  // with the index, 20 bytes at most
  config.roles[0].count = 1024;
  const LaunchPlan plan = plan_launch(config, {.variables = {}, .cores = 1});
  BOOST_TEST_REQUIRE(plan.hosts.size() == 1U);
  BOOST_TEST(plan.hosts[0].start.nodes.size() == 1024U);
  BOOST_TEST(json_of(plan.hosts[0].start).size() <= AgentFrameReader::kBodyMax);
  BOOST_TEST(plan.hosts[0].start.variables.at("TROUPE_WORLD").size() > 19'000U);
}

BOOST_AUTO_TEST_CASE(range_without_a_free_port_is_a_problem_with_its_name) {
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BOOST_REQUIRE(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  BOOST_REQUIRE(listen(listener.get(), 1) == 0);
  BOOST_REQUIRE(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ClusterConfig config = two_nodes();
  config.node.ports = fmt::format("{0}-{0}", ntohs(address.sin_port));
  BOOST_CHECK_EXCEPTION(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError, [&](const ConfigError& error) {
    return error.lines().front() ==
           fmt::format("cluster.ports: cannot use a port of {} of 127.0.0.1: Address already in use",
                       config.node.ports);
  });
}

BOOST_AUTO_TEST_CASE(nodes_listen_at_the_address_that_the_file_says) {
  ClusterConfig config = two_nodes();
  config.node.address = "127.0.0.2";
  const LaunchPlan plan = plan_launch(config, {.variables = {}, .cores = 1});
  BOOST_TEST(plan.nodes.at(0).child.environment.at("TROUPE_SEED").starts_with("tcp://127.0.0.2:"));
  BOOST_TEST(plan.nodes.at(1).child.environment.at("TROUPE_ADDRESS") == "tcp://127.0.0.2:*");

  config.node.address = "*";
  config.node.network = "loopback";
  BOOST_CHECK_EXCEPTION(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError, [](const ConfigError& error) {
    return error.lines().front() ==
           "built-in default: cluster.address: * can be reached from other machines: " + std::string(kTrustHint);
  });
  config.node.network = "trusted";
  const LaunchPlan open = plan_launch(config, {.variables = {}, .cores = 1});
  BOOST_TEST(open.nodes.at(0).child.environment.at("TROUPE_SEED").starts_with("tcp://127.0.0.1:"));
  BOOST_TEST(open.nodes.at(0).child.environment.at("TROUPE_ADDRESS").starts_with("tcp://*:"));
  BOOST_TEST(open.nodes.at(1).child.environment.at("TROUPE__CLUSTER__NETWORK") == "trusted");
  BOOST_CHECK(!open.nodes.at(1).child.keys);

  config.transport = Transport::ipc;
  BOOST_CHECK_THROW(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError);
}

BOOST_AUTO_TEST_CASE(ports_are_refused_where_nodes_do_not_listen_over_tcp) {
  ClusterConfig config = two_nodes();
  config.transport = Transport::ipc;
  (void)plan_launch(config, {.variables = {}, .cores = 1});
  config.port = 29500;
  config.port_origin = {Origin::Layer::command_line, ""};
  config.node.ports = "29500-29599";
  config.ports_origin = {Origin::Layer::file, "c.toml:4"};
  config.node.stream_ports = "29600-29699";
  config.stream_ports_origin = {Origin::Layer::file, "c.toml:5"};
  const std::vector<std::string> wanted{
      "command line: cluster.port: nodes listen over TCP with transport = \"tcp\" only",
      "c.toml:4: cluster.ports: nodes listen over TCP with transport = \"tcp\" only",
      "c.toml:5: cluster.stream_ports: nodes listen over TCP with transport = \"tcp\" only"};
  const auto are_refused = [&wanted](const ConfigError& error) {
    BOOST_TEST(error.lines() == wanted, boost::test_tools::per_element());
    return true;
  };
  BOOST_CHECK_EXCEPTION(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError, are_refused);

  HostConfig host;
  host.name = "a";
  host.agent = {"/proc/self/exe", "agent"};
  config.hosts = {host};
  BOOST_CHECK_EXCEPTION(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError, are_refused);
}

BOOST_AUTO_TEST_CASE(each_node_gets_a_key_of_its_own_where_the_file_says_so) {
  ClusterConfig config = two_nodes();
  config.node.network = "keys";
  const LaunchPlan plan = plan_launch(config, {.variables = {}, .cores = 1});
  BOOST_TEST_REQUIRE(plan.nodes.size() == 2U);
  for (const NodePlan& node : plan.nodes) {
    BOOST_REQUIRE(node.child.keys);
    BOOST_TEST(node.child.keys->own_name() == node.name);
    BOOST_TEST(node.child.keys->members().size() == 2U);
    BOOST_TEST(node.child.keys->members().front().name == plan.nodes.front().name);  // the seed
  }
  BOOST_CHECK(plan.nodes[0].child.keys->own_keys().public_key() ==
              *plan.nodes[1].child.keys->key_of(plan.nodes[0].name));

  config.transport = Transport::ipc;
  BOOST_CHECK_EXCEPTION(plan_launch(config, {.variables = {}, .cores = 1}), ConfigError, [](const ConfigError& error) {
    return error.lines().front() ==
           "built-in default: cluster.network: \"keys\" encrypts tcp; set transport = \"tcp\", or leave network out: "
           "nothing of transport = \"ipc\" leaves this machine";
  });
}

BOOST_AUTO_TEST_CASE(nodes_that_other_machines_reach_have_keys_by_themselves) {
  ClusterConfig config = two_nodes();
  BOOST_CHECK(!plan_launch(config, {.variables = {}, .cores = 1}).nodes.front().child.keys);
  config.node.address = "*";
  const LaunchPlan plan = plan_launch(config, {.variables = {}, .cores = 1});
  BOOST_CHECK(plan.nodes.front().child.keys);
  BOOST_TEST(plan.nodes.front().child.environment.at("TROUPE__CLUSTER__NETWORK") == "keys");
}

// A node that is taken over is a child of the launcher, which has the keys of all.
BOOST_AUTO_TEST_CASE(a_process_that_draws_keys_cannot_be_read_by_others_of_its_user_unless_it_is_debugged,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S10")) {
  ClusterConfig config = two_nodes();
  const auto plan = [&config] { (void)plan_launch(config, {.variables = {}, .cores = 1}); };
  BOOST_TEST(testing::dumpable_after(plan) == 1);
  config.node.network = "keys";
  BOOST_TEST(testing::dumpable_after(plan) == 0);
  config.node.debug = true;
  BOOST_TEST(testing::dumpable_after(plan) == 1);

  config.node.debug = false;
  for (const char* name : {"a", "b"}) {
    HostConfig host;
    host.name = name;
    host.agent = {"/proc/self/exe", "agent"};
    config.hosts.push_back(host);
  }
  BOOST_TEST(testing::dumpable_after(plan) == 0);
}

BOOST_AUTO_TEST_CASE(cores_are_shared_and_what_the_user_set_for_maths_stays) {
  const LaunchPlan plan = plan_launch(two_nodes(), {.variables = {{"OMP_WAIT_POLICY", "active"}}, .cores = 5});
  const Variables& variables = plan.nodes.at(1).child.environment;
  BOOST_TEST(variables.at("TROUPE_MATH_THREADS") == "2");  // 5 / 2
  BOOST_TEST(variables.at("OMP_NUM_THREADS") == "2");
  BOOST_TEST(variables.at("OMP_WAIT_POLICY") == "active");
}

BOOST_AUTO_TEST_CASE(nothing_of_an_outer_cluster_reaches_a_node) {
  const Variables outer{{"TROUPE_SECRET_FD", "9"}, {"TROUPE_SECRET_FILE", "/key"},       {"TROUPE_KEYS_FD", "10"},
                        {"TROUPE_RANK", "7"},      {"TROUPE__NODE__LOG_LEVEL", "trace"}, {"HOME", "/root"}};
  const LaunchPlan plan = plan_launch(two_nodes(), {.variables = outer, .cores = 1});
  const Variables& variables = plan.nodes.at(1).child.environment;
  BOOST_TEST(!variables.contains("TROUPE_SECRET_FILE"));
  BOOST_TEST(!variables.contains("TROUPE_SECRET_FD"));
  BOOST_TEST(!variables.contains("TROUPE_KEYS_FD"));
  BOOST_TEST(variables.at("TROUPE_RANK") == "1");
  BOOST_TEST(variables.at("TROUPE__NODE__LOG_LEVEL") == "info");
  BOOST_TEST(variables.at("HOME") == "/root");
}

// A node with a key file gets no address if it listens on the way to the seed: another's would count.
BOOST_AUTO_TEST_CASE(the_address_of_another_node_is_not_inherited) {
  BOOST_TEST(!inherited_variables({{"TROUPE_ADDRESS", "tcp://192.0.2.9:29600"}}, 1).contains("TROUPE_ADDRESS"));
}

BOOST_AUTO_TEST_SUITE_END()
