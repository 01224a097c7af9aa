// What `troupe doctor` will ask of which host.
#include "node/doctor/doctor_plan.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

using namespace troupe;
using namespace troupe::detail;

namespace {

struct ClusterFile : troupe::testing::TemporaryDirectory {
  ClusterConfig config(const std::string& text, const std::vector<std::string>& overrides = {}) {
    std::ofstream(path() / "cluster.toml") << text;
    return doctor_target((path() / "cluster.toml").string(), {}, overrides);
  }
};

const std::string kThreeHosts = R"(
[cluster]
port = 29500
ports = "29500-29599"
stream_ports = "29600-29699"
[[host]]
name = "a"
ssh = "me@a.example"
[[host]]
name = "b"
address = "eth1"
[[host]]
name = "c"
[[role]]
name = "n"
count = 3
command = ["sh"]
hosts = ["b", "c"]
)";

/// Returns the text of the error; empty if there is none.
std::string error_of(const std::string& target, const std::vector<std::string>& overrides = {}) {
  try {
    (void)plan_doctor(doctor_target(target, {}, overrides));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(doctor_plan, ClusterFile)

BOOST_AUTO_TEST_CASE(all_hosts_of_a_file_are_asked_those_without_nodes_too) {
  const DoctorPlan plan = plan_doctor(config(kThreeHosts));
  BOOST_TEST_REQUIRE(plan.hosts.size() == 3u);
  BOOST_TEST(plan.has_network);
  BOOST_TEST(plan.first == 1u);
  BOOST_TEST(plan.ports == "29500-29599");
  const DoctorHost& a = plan.hosts[0];
  const DoctorHost& b = plan.hosts[1];
  BOOST_TEST(a.agent.back() == "agent");
  BOOST_TEST(a.agent[a.agent.size() - 3] == "me@a.example");
  BOOST_TEST(a.needs.nodes == 0u);
  BOOST_TEST(!a.programs.has_value());
  BOOST_TEST(a.listen.port == 0);
  BOOST_CHECK((a.listen.toward == std::vector<std::string>{"eth1", "c"}));
  BOOST_TEST(b.needs.nodes == 2u);
  BOOST_TEST(b.needs.nodes_of_cluster == 3u);
  BOOST_TEST(b.needs.encrypts);
  BOOST_TEST(b.listen.port == 29500);
  BOOST_TEST(b.listen.address == "eth1");
  BOOST_TEST(b.listen.stream_ports == "29600-29699");
  BOOST_CHECK((b.listen.toward == std::vector<std::string>{"a.example", "c"}));
  BOOST_TEST_REQUIRE(b.programs.has_value());
  BOOST_TEST(b.programs->programs.at(0).path == "sh");
  BOOST_TEST(!b.programs->seed.has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_is_overridden_and_one_without_a_network) {
  BOOST_TEST(plan_doctor(config(kThreeHosts, {"cluster.network=trusted"})).hosts[1].needs.encrypts == false);
  const DoctorPlan plan =
      plan_doctor(config("[[host]]\nname = \"a\"\nlocal = true\n[[role]]\nname = \"n\"\ncommand = [\"sh\"]\n"));
  BOOST_TEST(!plan.has_network);
  BOOST_TEST(plan.first == 0u);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_no_file_is_a_host_beside_this_machine) {
  const DoctorPlan plan = plan_doctor(doctor_target("me@beta", {}, {}));
  BOOST_TEST_REQUIRE(plan.hosts.size() == 2u);
  BOOST_TEST(plan.has_network);
  BOOST_TEST(plan.first == 1u);  // sshd tells its address, and here is found toward it
  BOOST_TEST(plan.hosts[0].name == "here");
  BOOST_CHECK((plan.hosts[0].agent == std::vector<std::string>{"/proc/self/exe", "agent"}));
  BOOST_CHECK((plan.hosts[0].listen.toward == std::vector<std::string>{"beta"}));
  BOOST_CHECK((plan.hosts[1].agent ==
               std::vector<std::string>{"ssh", "-T", "-o", "BatchMode=yes", "me@beta", "troupe", "agent"}));
  BOOST_TEST(plan.hosts[1].needs.encrypts);
  BOOST_TEST(!plan.hosts[1].programs.has_value());
}

BOOST_AUTO_TEST_CASE(targets_that_are_neither_are_wrong) {
  BOOST_TEST(error_of("none.toml") == "none.toml: cannot read: No such file or directory");
  BOOST_TEST(error_of("no/such") == "no/such: cannot read: No such file or directory");
  BOOST_TEST(error_of("-oProxyCommand=x") == "\"-oProxyCommand=x\" is neither a file nor a host");
  BOOST_TEST(error_of("beta", {"cluster.port=5"}) == "--set: there is no file \"beta\" with such keys");
  const std::string file = (path() / "plain.toml").string();
  std::ofstream(file) << "[[role]]\nname = \"n\"\ncommand = [\"sh\"]\n";
  BOOST_TEST(error_of(file) == file + ": it has no [[host]], and `troupe doctor` is about hosts");
}

BOOST_AUTO_TEST_SUITE_END()
