// What a node may do, and what others of its user may do to it.
#include <boost/test/unit_test.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "actors/function_registry.h"
#include "node/node.h"
#include "tests/process/attacks/stranger.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

/// What may be read from and written to the memory of this process: before a test, and again after it.
struct Dumps {
  Dumps() { BOOST_REQUIRE(::getrlimit(RLIMIT_CORE, &limit) == 0); }
  ~Dumps() {
    ::prctl(PR_SET_DUMPABLE, dumpable);
    ::setrlimit(RLIMIT_CORE, &limit);
  }
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;
  void allow() const {
    ::prctl(PR_SET_DUMPABLE, 1);
    rlimit most = limit;
    most.rlim_cur = most.rlim_max;
    BOOST_REQUIRE(::setrlimit(RLIMIT_CORE, &most) == 0);
  }
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  rlimit limit{};
};

/// A precondition: another user can run the programs of this build.
boost::test_tools::assertion_result others_may_run_it(boost::unit_test::test_unit_id unit) {
  boost::test_tools::assertion_result result = may_be_another_user(unit);
  if (!result) return result;
  const bool runs =
      as_user(kStranger, [] { return ::access(TROUPE_PROGRAM, X_OK) == 0 && ::access(WAITING_NODE, X_OK) == 0; });
  result = boost::test_tools::assertion_result(runs);
  result.message() << "user " << kStranger << " cannot run " << TROUPE_PROGRAM;
  return result;
}

BOOST_AUTO_TEST_SUITE(privileges)

BOOST_AUTO_TEST_CASE(a_node_with_keys_leaves_no_core_dump_and_cannot_be_read_by_others_of_its_user,
                     *label("attack") * label("S10") * label("S16")) {
  const Dumps before;
  before.allow();
  NodeOptions options;
  options.name = "a";
  options.world_size = 0;
  {
    const Node open = Node::join(options, {});
    BOOST_TEST(::prctl(PR_GET_DUMPABLE) == 1);
  }
  options.keys = make_run_keys(std::vector<NodeName>{"a", "b"})[0];
  options.liveness.debug = true;
  {
    const Node debugged = Node::join(options, {});
    BOOST_TEST(::prctl(PR_GET_DUMPABLE) == 1);
  }
  options.liveness.debug = false;
  const Node keyed = Node::join(options, {});
  rlimit limit{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_CORE, &limit) == 0);
  BOOST_TEST(limit.rlim_cur == 0U);
  BOOST_TEST(::prctl(PR_GET_DUMPABLE) == 0);
}

BOOST_AUTO_TEST_CASE(nothing_that_a_node_of_troupe_up_starts_gains_privileges, *label("attack") * label("S16")) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "cluster.toml")
      << "[[role]]\nname = \"a\"\ncommand = [\"grep\", \"NoNewPrivs\", \"/proc/self/status\"]\n";
  const TroupeRun::Result result = TroupeRun(directory.path(), {"up", "cluster.toml"}).finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(std::ranges::count(result.lines, "[a] NoNewPrivs:\t1") == 1);
}

BOOST_AUTO_TEST_CASE(a_confined_node_starts_no_shell_and_dies_when_it_becomes_one, *label("attack") * label("S16")) {
  for (const bool confined : {false, true}) {
    const TemporaryDirectory directory;
    std::ofstream(directory.path() / "cluster.toml")
        << "[node]\nconfined = " << (confined ? "true" : "false")
        << "\n[[role]]\nname = \"callee\"\nenv = {ASAN_OPTIONS = \"detect_leaks=0\"}\ncommand = [\"" SHELL_NODE
           "\"]\n[[role]]\nname = \"caller\"\ncommand = [\"" SHELL_NODE "\"]\n";
    const TroupeRun::Result result = TroupeRun(directory.path(), {"up", "cluster.toml"}, 30s).finish();
    const auto says = [&result](const std::string& text) {
      return std::ranges::any_of(result.lines, [&](const auto& line) { return line.find(text) != std::string::npos; });
    };
    BOOST_TEST_INFO_SCOPE("confined " << confined);
    BOOST_TEST(says(confined ? "[caller] the shell: 31" : "[caller] the shell: 0"));
    BOOST_TEST(says("[callee] a shell in the place of the node") == !confined);
    BOOST_TEST(says("[callee] killed by signal 31 (SIGSYS: it did what it may not, see node.confined), pid") ==
               confined);
    BOOST_TEST(result.status == (confined ? 128 + SIGSYS : 0));
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_with_keys_needs_no_root,
                     *boost::unit_test::precondition(others_may_run_it) * label("attack") * label("S16")) {
  const TemporaryDirectory directory;
  BOOST_REQUIRE(::chown(directory.path().c_str(), kStranger, kStranger) == 0);
  std::ofstream(directory.path() / "cluster.toml")
      << "[cluster]\nname = \"unprivileged\"\ntransport = \"tcp\"\nnetwork = \"keys\"\n[peer]\nowners_max = 1\n"
      << "[[role]]\nname = \"callee\"\ncommand = [\"" WAITING_NODE "\"]\n"
      << "[[role]]\nname = \"caller\"\ncommand = [\"" WAITING_NODE "\"]\n";
  TroupeRun run(directory.path(), {"up", "cluster.toml", "--log-dir", "logs"}, 60s, kStranger);
  run.wait_for("[callee] holding");
  run.signal(SIGINT);
  BOOST_TEST(run.finish().status == 130);
  BOOST_TEST(run.all_gone());
  for (const char* name : {"callee.log", "callee.audit", "caller.log", "caller.audit"})
    BOOST_TEST(std::filesystem::file_size(directory.path() / "logs" / name) > 0U, name);
}

BOOST_AUTO_TEST_CASE(a_node_does_not_start_with_an_old_libzmq_in_the_place_of_its_own,
                     *label("attack") * label("S18")) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "cluster.toml")
      << "[[role]]\nname = \"callee\"\nenv = {LD_PRELOAD = \"" OLD_ZMQ
         "\", ASAN_OPTIONS = \"verify_asan_link_order=0\"}\ncommand = [\"" WAITING_NODE "\"]\n";
  const TroupeRun::Result result = TroupeRun(directory.path(), {"up", "cluster.toml"}, 30s).finish();
  BOOST_TEST(result.status != 0);
  BOOST_TEST(std::ranges::any_of(result.lines, [](const std::string& line) {
    return line.find("this process has loaded libzmq 4.2.5, in which strangers can run code") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
