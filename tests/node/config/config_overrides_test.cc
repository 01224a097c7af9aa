// What the environment and the command line change in a cluster file.
#include "node/config/config_overrides.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "tests/node/config/config_files.h"

using namespace troupe;
using troupe::testing::check_lines;
using troupe::testing::kMinimalFile;

BOOST_FIXTURE_TEST_SUITE(config_overrides, testing::ConfigFiles)

BOOST_AUTO_TEST_CASE(command_line_wins_over_environment_over_file_over_default) {
  const std::string text = "[cluster]\nname = \"file\"\nport = 1\ntransport = \"tcp\"\n" + std::string(kMinimalFile);
  const Variables variables{{"TROUPE__CLUSTER__NAME", "environment"}, {"TROUPE__CLUSTER__PORT", "2"}};
  const ClusterConfig config = load(text, variables, {"cluster.name=first", "cluster.name=command-line"});
  BOOST_TEST(config.name == "command-line");
  BOOST_TEST(config.port == 2);
  BOOST_CHECK(config.transport == Transport::tcp);
  BOOST_TEST(config.node.log_level == "info");
}

BOOST_AUTO_TEST_CASE(a_role_can_be_overridden_by_its_name) {
  const std::string text =
      "[[role]]\nname = \"param-server\"\ncommand = [\"./ps\"]\n[[role]]\nname = \"trainer\"\ncommand = [\"./t\"]\n";
  const ClusterConfig config = load(text, {{"TROUPE__ROLE__PARAM_SERVER__COUNT", "2"}},
                                    {"role.trainer.count=3", R"(role.trainer.command=["./u", "-v"])"});
  BOOST_TEST(config.roles.at(0).count == 2);
  BOOST_TEST(config.roles.at(1).count == 3);
  BOOST_TEST(config.roles.at(1).command == (std::vector<std::string>{"./u", "-v"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_is_overridden_as_the_file_would_have_it) {
  const auto config = load(kMinimalFile, {{"TROUPE__ROLE__PS__COMMAND", R"(['a\b', "c"])"}},
                           {R"(role.ps.command=["sh","-c","printf \"x\""])"});
  const std::vector<std::string> wanted{"sh", "-c", "printf \"x\""};
  BOOST_TEST(config.roles[0].command == wanted, boost::test_tools::per_element());
  check_lines(
      errors(kMinimalFile, {}, {R"(role.ps.command=["\d"])"}),
      {R"(command line: role.ps.command: expected an array of strings such as ["./ps", "--fast"], found "["\d"]")"});
}

BOOST_AUTO_TEST_CASE(overrides_that_name_nothing_are_refused) {
  check_lines(errors(kMinimalFile, {{"TROUPE__CLUSTER", "1"}}),
              {"environment TROUPE__CLUSTER: expected TROUPE__SECTION__KEY, TROUPE__ROLE__<NAME>__KEY or "
               "TROUPE__HOST__<NAME>__KEY"});
  check_lines(errors(kMinimalFile, {{"TROUPE__CLUSTRE__PORT", "1"}}),
              {R"(environment TROUPE__CLUSTRE__PORT: clustre: unknown section, did you mean "cluster"?)"});
  check_lines(errors(kMinimalFile, {{"TROUPE__CLUSTER__PORT", "1x"}}),
              {R"(environment TROUPE__CLUSTER__PORT: cluster.port: expected an integer, found "1x")"});
  check_lines(errors(kMinimalFile, {}, {"cluster.port"}),
              {"command line: --set cluster.port: expected section.key=value, role.<name>.<key>=value "
               "or host.<name>.<key>=value"});
  check_lines(errors(kMinimalFile, {}, {"role.sp.count=2"}),
              {R"(command line: role: no role "sp", did you mean "ps"?)"});
  check_lines(errors(kMinimalFile, {}, {"role.ps.cuont=2"}),
              {R"(command line: role.ps.cuont: unknown key, did you mean "count"?)"});
  check_lines(errors(kMinimalFile, {}, {"role.ps.count=many"}),
              {R"(command line: role.ps.count: expected an integer, found "many")"});
}

BOOST_AUTO_TEST_CASE(overrides_of_a_role_add_no_error_to_that_of_a_file_whose_names_are_not_known) {
  const Variables variables{{"TROUPE__ROLE__PS__COUNT", "2"}};
  const std::vector<std::string> sets{"role.ps.count=2"};
  check_lines(errors_of((path() / "absent.toml").string(), variables, sets),
              {"absent.toml: cannot read: No such file or directory"});
  check_lines(errors("[role]\nname = \"ps\"\n", variables, sets),
              {"cluster.toml:1: role: expected [[role]], found [role]"});
  check_lines(errors("[[role]]\nnmae = \"ps\"\ncommand = [\"./ps\"]\n", variables, sets),
              {R"(cluster.toml:1: role.name: missing, e.g. name = "trainer")",
               R"(cluster.toml:2: role.nmae: unknown key, did you mean "name"?)"});
  check_lines(errors("[[role]]\nname = 7\ncommand = [\"./ps\"]\n", variables, sets),
              {"cluster.toml:2: role.name: expected a string, found integer 7"});
  check_lines(errors("[cluster]\nport = 0\n", {}, {"host.a.ssh=\"b\""}), {R"(command line: host: no host "a")"});
}

BOOST_AUTO_TEST_SUITE_END()
