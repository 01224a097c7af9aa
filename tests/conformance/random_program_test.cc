// Random programs on all nodes at once: each step returns the expected result, every future completes, and a round
// leaves nothing behind. TROUPE_PROGRAM_SEED selects one round, TROUPE_PROGRAM_SEEDS sets the number of rounds.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "tests/conformance/random_program.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

std::vector<std::uint64_t> seeds() {
  if (const char* one = std::getenv("TROUPE_PROGRAM_SEED")) return {std::stoull(one)};
  const char* count = std::getenv("TROUPE_PROGRAM_SEEDS");
  std::vector<std::uint64_t> all(count != nullptr ? std::stoull(count) : 100);
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  return all;
}

/// Runs a program on each node. Each program starts others on other nodes.
ProgramReport run_round(TestCluster& cluster, std::uint64_t seed) {
  const std::vector<NodeName> nodes{"trainer", "p1", "p2", "p3"};
  std::vector<Future<ProgramReport>> programs;
  for (const NodeName& node : nodes) {
    const ProgramScript script{seed * nodes.size() + programs.size(), 24, 1, nodes};
    programs.push_back(cluster.trainer().rpc_async(node, &run_program, script, std::vector<KnownCell>{}));
  }
  ProgramReport report;
  for (const Future<ProgramReport>& program : programs) {
    try {
      report.add(program.get());
    } catch (const RemoteError& error) {
      report.wrong.push_back(error.error().text());
    }
  }
  return report;
}

BOOST_AUTO_TEST_CASE(random_programs_give_what_they_must_and_leave_nothing) {
  TestCluster cluster({"p1", "p2", "p3"}, {}, backend_of_this_run(), Leaks::warn, "error");
  ProgramReport sum;
  const std::vector<std::uint64_t> rounds = seeds();
  for (const std::uint64_t seed : rounds) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const ProgramReport report = run_round(cluster, seed);
      for (const std::string& line : report.wrong) BOOST_ERROR(line);
      cluster.expect_settled();
      sum.add(report);
    }
  }
  for (const auto& [end, times] : sum.ends) BOOST_TEST_MESSAGE(end << " " << times);
  if (rounds.size() < 100) return;
  // Each of these outcomes must have occurred.
  for (const char* end : {"call: value",
                          "call: timeout",
                          "call: cancelled",
                          "call then: value",
                          "late call: timeout",
                          "exception: exception",
                          "exception below: exception",
                          "tensor: value",
                          "tensor: timeout",
                          "local value: value",
                          "fetch: value",
                          "fetch: timeout",
                          "fetch: cancelled",
                          "read: value",
                          "sum: value",
                          "sum: cancelled",
                          "hand on: value",
                          "hand on: timeout",
                          "give back: value",
                          "give back: cancelled",
                          "hold: value",
                          "hold itself: value",
                          "close: value",
                          "touched: value",
                          "program: value"}) {
    BOOST_TEST(sum.ends[end] > 0U, end);
  }
}

}  // namespace
}  // namespace troupe::testing
