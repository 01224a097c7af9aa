// `troupe keys` as a user types it.
#include "node/keys/keys_command.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe {
namespace {

using testing::TemporaryDirectory;
using testing::TroupeRun;

struct Shell : TemporaryDirectory {
  TroupeRun::Result keys(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "keys");
    return TroupeRun(path(), std::move(arguments)).finish();
  }
  void check(std::vector<std::string> arguments, int status, const std::vector<std::string>& lines) const {
    const TroupeRun::Result result = keys(std::move(arguments));
    BOOST_TEST(result.status == status);
    BOOST_TEST(result.lines == lines, boost::test_tools::per_element());
  }
};

BOOST_AUTO_TEST_SUITE(keys_command)

BOOST_AUTO_TEST_CASE(keys_are_made_shown_checked_and_taken_back) {
  const Shell shell;
  shell.check({"init-cluster"}, 0,
              {"keys/cluster.key: signs who is in; it stays here", "keys/nodes/cluster.members: serial 1, 0 members"});
  shell.check({"new-node", "ps", "trainer0"}, 0,
              {"keys/nodes/ps.key: for ps alone", "keys/nodes/trainer0.key: for trainer0 alone",
               "keys/nodes/cluster.members: serial 2, 2 members"});
  shell.check({"rotate", "ps"}, 0,
              {"keys/nodes/ps.key: for ps alone", "keys/nodes/cluster.members: serial 3, 2 members"});
  shell.check({"revoke", "trainer0"}, 0, {"keys/nodes/cluster.members: serial 4, 1 member"});
  shell.check({"verify"}, 0, {"keys/nodes/cluster.members: serial 4, 1 member"});
  const TroupeRun::Result list = shell.keys({"show-public"});
  BOOST_TEST_REQUIRE(list.lines.size() == 2U);
  BOOST_TEST(list.lines[0].ends_with(", serial 4, 1 member"));
  BOOST_TEST(list.lines[1].size() == 2U + 4U + 64U);
  shell.check({"show-public", "keys/nodes/ps.key"}, 0, {list.lines[1].substr(0, 2) + list.lines[1].substr(4)});
  const TroupeRun::Result node = shell.keys({"verify", "keys/nodes/ps.key"});
  BOOST_TEST(node.last().starts_with("ps is in cluster "));
  BOOST_TEST(node.last().ends_with(", serial 4, with 0 other members"));
}

BOOST_AUTO_TEST_CASE(all_nodes_of_a_cluster_file_get_keys_once) {
  const Shell shell;
  std::ofstream(shell.path() / "c.toml") << "[[role]]\nname = \"w\"\ncount = 2\ncommand = [\"w\"]\n";
  (void)shell.keys({"init-cluster", "k"});
  shell.check({"new-node", "--dir", "k", "w1", "--until", "2999-12-31"}, 0,
              {"k/nodes/w1.key: for w1 alone", "k/nodes/cluster.members: serial 2, 1 member"});
  shell.check({"new-node", "--dir", "k", "--for", "c.toml"}, 0,
              {"k/nodes/w0.key: for w0 alone", "k/nodes/cluster.members: serial 3, 2 members"});
  shell.check({"new-node", "--dir", "k", "--for", "c.toml"}, 0, {"k/nodes/cluster.members: serial 3, 2 members"});
  BOOST_TEST(shell.keys({"show-public", "k"}).lines.at(1).ends_with("  until 2999-12-31"));
}

BOOST_AUTO_TEST_CASE(calls_are_granted_and_the_grants_are_shown) {
  const Shell shell;
  (void)shell.keys({"init-cluster"});
  shell.check({"new-node", "guest", "--calls", "eval,stats.*"}, 0,
              {"keys/nodes/guest.key: for guest alone", "keys/nodes/cluster.members: serial 2, 1 member"});
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  calls eval,stats.*"));
  shell.check({"rotate", "guest", "--until", "2999-12-31"}, 0,
              {"keys/nodes/guest.key: for guest alone", "keys/nodes/cluster.members: serial 3, 1 member"});
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  until 2999-12-31  calls eval,stats.*"));
  shell.check({"grant", "guest", "--calls", "-"}, 0, {"keys/nodes/cluster.members: serial 4, 1 member"});
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  calls -"));
  shell.check({"grant", "guest", "--calls", "*"}, 0, {"keys/nodes/cluster.members: serial 5, 1 member"});
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  until 2999-12-31"));
  shell.check({"grant", "ps", "--calls", "*"}, 1, {"troupe: \"ps\" is no member; members are: guest"});
  shell.check({"grant", "guest", "--calls", "b, a stats.*"}, 0, {"keys/nodes/cluster.members: serial 6, 1 member"});
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  calls b,a,stats.*"));
  shell.check({"grant", "guest", "--calls", "a - b"}, 1,
              {"troupe: --calls a - b: has no functions such as eval,stats.*, nor - for none"});
  const std::string long_name(201, 'f');
  shell.check({"grant", "guest", "--calls", long_name}, 1,
              {"troupe: --calls " + long_name +
               ": has functions of more than 200 characters; one such as stats.* stands for many"});
  shell.check({"grant", "guest"}, 2, {"troupe: --calls, --owns or --reads is required (see troupe keys --help)"});
}

BOOST_AUTO_TEST_CASE(rights_on_values_are_withheld_given_and_shown_and_the_other_grants_stay,
                     *boost::unit_test::label("S6")) {
  const Shell shell;
  const auto shown = [&shell] { return shell.keys({"show-public"}).lines.at(1).substr(5 + 2 + 64); };  // behind the key
  (void)shell.keys({"init-cluster"});
  (void)shell.keys({"new-node", "guest", "--calls", "eval", "--owns", "-"});
  BOOST_TEST(shown() == "  calls eval  owns -");
  shell.check({"grant", "guest", "--reads", "-"}, 0, {"keys/nodes/cluster.members: serial 3, 1 member"});
  BOOST_TEST(shown() == "  calls eval  owns -  reads -");
  (void)shell.keys({"rotate", "guest"});
  shell.check({"grant", "guest", "--calls", "*", "--owns", "*"}, 0, {"keys/nodes/cluster.members: serial 5, 1 member"});
  BOOST_TEST(shown() == "  reads -");
  shell.check({"verify"}, 0, {"keys/nodes/cluster.members: serial 5, 1 member"});
  for (const char* text : {"", "no", "eval"}) BOOST_TEST(shell.keys({"grant", "guest", "--reads", text}).status == 2);
  BOOST_TEST(shown() == "  reads -");
}

BOOST_AUTO_TEST_CASE(an_empty_text_grants_nothing) {
  const Shell shell;
  (void)shell.keys({"init-cluster"});
  (void)shell.keys({"new-node", "guest", "--calls", "-"});
  const std::vector<std::string> refusal{
      "troupe: --calls: the text is empty: \"*\" lets them call all functions, \"-\" none (see troupe keys --help)"};
  shell.check({"grant", "guest", "--calls", ""}, 2, refusal);
  BOOST_TEST(shell.keys({"grant", "guest", "--calls="}).status == 2);
  shell.check({"new-node", "other", "--calls", ""}, 2, refusal);
  BOOST_TEST(shell.keys({"show-public"}).lines.at(1).ends_with("  calls -"));
  shell.check({"grant", "guest", "--calls", "*eval*"}, 1,
              {"troupe: --calls *eval*: has no functions such as eval,stats.*, nor - for none"});
  shell.check({"new-node", "other"}, 0,
              {"keys/nodes/other.key: for other alone", "keys/nodes/cluster.members: serial 3, 2 members"});
}

BOOST_AUTO_TEST_CASE(mistakes_are_named) {
  const Shell shell;
  shell.check({"new-node", "ps"}, 1,
              {"troupe: there is no keys/cluster.key: `troupe keys init-cluster keys` makes it"});
  (void)shell.keys({"init-cluster"});
  shell.check({"new-node"}, 1, {"troupe: no node was named"});
  shell.check({"new-node", "ps", "--until", "tomorrow"}, 1,
              {"troupe: --until tomorrow: has no date such as 2027-01-31"});
  shell.check(
      {"new-node", "ps", "--until", ""}, 2,
      {"troupe: --until: the text is empty: leave --until out for keys without a last day (see troupe keys --help)"});
  shell.check({"new-node", "ps", "--until", "2020-01-01"}, 1, {"troupe: --until 2020-01-01: this day is over"});
  (void)shell.keys({"new-node", "ps"});
  const std::string file = (shell.path() / "keys/nodes/ps.key").string();
  BOOST_REQUIRE(::chmod(file.c_str(), 0644) == 0);
  shell.check({"verify"}, 1, {file + " has mode 0644: others may open it"});
  shell.check({"verify", "keys/nodes/ps.key"}, 1,
              {"troupe: " + file + " has mode 0644: others may open it: chmod 0600 " + file});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
