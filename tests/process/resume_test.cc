// A training whose processes are all killed goes on from its checkpoint, on other numbers of nodes.
#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

struct Trainings : TemporaryDirectory {
  /// Starts `count` nodes.
  [[nodiscard]] TroupeRun up(int count, const std::string& mode) const {
    const std::string file = mode + std::to_string(count) + ".toml";
    std::ofstream(path() / file)
        << "[cluster]\nname = \"resume\"\n[node]\nmath_threads = 1\n[[role]]\nname = \"n\"\ncount = " << count
        << "\ncommand = [\"" RESUMABLE_NODE "\", \"" << run() << "\", \"" << mode << "\"]\n";
    return TroupeRun(path(), {"up", file}, 60s);
  }
  [[nodiscard]] std::string run() const { return (path() / "run").string(); }
};

/// Returns what follows `text` in a line.
std::string after(const std::string& line, const std::string& text) {
  return line.substr(line.find(text) + text.size());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(resume, Trainings)

BOOST_AUTO_TEST_CASE(training_that_is_killed_anywhere_equals_an_unbroken_one_bit_for_bit_on_1_2_and_5_nodes) {
  TroupeRun unbroken = up(3, "unbroken");
  const std::string expected = after(unbroken.wait_for("hash "), "hash ");
  BOOST_TEST(unbroken.finish().status == 0);

  for (const int count : {1, 2, 5}) {
    {
      TroupeRun saving = up(3, "save");
      for (int i = 0; i < count; ++i) saving.wait_for("saved step ");
      saving.signal(SIGKILL);  // in the middle of a step or of a save
      BOOST_TEST(saving.all_gone());
    }
    TroupeRun resumed = up(count, "resume");
    const int from = std::stoi(after(resumed.wait_for("from step "), "from step "));
    BOOST_TEST(from >= 19 + count);
    BOOST_TEST(from <= 40);
    BOOST_TEST(after(resumed.wait_for("hash "), "hash ") == expected, count << " nodes");
    BOOST_TEST(resumed.finish().status == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
