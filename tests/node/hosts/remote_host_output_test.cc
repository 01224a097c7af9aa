// `troupe up` over hosts whose output nobody takes: agents on this machine, each with a loopback address of its own.
#include <signal.h>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "tests/node/launch/launcher_runs.h"

namespace troupe::testing {
namespace {

/// Returns a [[host]] on this machine whose agent is started by `script`; by default the true one.
std::string host(const std::string& name, const std::string& address,
                 const std::string& script = "exec " TROUPE_PROGRAM " agent") {
  return "[[host]]\nname = \"" + name + "\"\naddress = \"" + address + "\"\nagent = [\"sh\", \"-c\", '''" + script +
         "''']\n";
}

BOOST_FIXTURE_TEST_SUITE(remote_host_output, RunDirectory)

BOOST_AUTO_TEST_CASE(a_reader_that_does_not_read_stalls_no_node_of_another_host_and_an_interrupt_ends_the_run) {
  auto run = up(host("a", "127.0.0.2") + host("b", "127.0.0.3") +
                    role("n", "yes | head -c 4000000; touch done$TROUPE_RANK; " + kPolite, "count = 2"),
                {"--set", "cluster.network=loopback"});
  BOOST_TEST_REQUIRE(appears("done0"));
  BOOST_TEST_REQUIRE(appears("done1"));
  run.signal(SIGINT);
  BOOST_TEST(run.exit_status() == 128 + SIGINT);
  BOOST_TEST(run.all_gone());
}

// A connection that carries the first words, and then nothing until there is a file "go".
const std::string kStalls =
    TROUPE_PROGRAM " agent | { dd bs=1 count=3000 2>/dev/null; until [ -e go ]; do sleep 0.01; done; exec cat; }";

BOOST_AUTO_TEST_CASE(a_connection_that_stalls_stalls_no_node_and_what_was_dropped_is_counted_also_in_the_log) {
  auto run = up(host("b", "127.0.0.3", kStalls) +
                    role("n", "yes 0123456789 | head -c 4000007; touch done; echo; echo the last line"),
                {"--set", "cluster.network=loopback", "--log-dir", "logs"});
  BOOST_TEST_REQUIRE(appears("done"));
  std::ofstream(path() / "go") << "";
  const auto result = run.finish();
  BOOST_TEST(result.status == 0);
  BOOST_TEST(result.last() == "[n] the last line");
  const std::string why = " of n were dropped: the connection to its host is slower than they came";
  std::size_t lost = 0;
  for (const std::string& line : with(result.lines, why)) {
    std::string number = line.substr(sizeof("[troupe] ") - 1);
    std::erase(number, ',');
    lost += std::stoul(number);
    BOOST_TEST(read("logs/n.log").find("\n" + line + "\n") != std::string::npos);
  }
  BOOST_TEST(lost > 100'000u);
  // 4000007 / 11 = 363637, an empty line and the last one. A line that was cut is shown, and its rest is counted.
  const std::size_t shown = with(result.lines, "[n]").size();
  BOOST_TEST(lost + shown >= 363'639u);
  BOOST_TEST(lost + shown <= 363'639u + with(result.lines, why).size());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
