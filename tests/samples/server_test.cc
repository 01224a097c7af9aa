// The demo when one of its processes is killed: which processes end, which continue, and their output.
#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The demo in a short form. Its processes print their ids first. Time-outs leave room for sanitizers.
struct Demo {
  static std::string shell(const std::string& command) {
    const std::filesystem::path programs = std::filesystem::path(TROUPE_PROGRAM).parent_path();
    return "[\"sh\", \"-c\", \"echo pid $$; exec " + (programs / command).string() + "\"]";
  }

  TroupeRun run{TROUPE_SOURCE_DIR,
                {"up", "samples/parameter_server/cluster.toml", "--set", "role.ps.command=" + shell("parameter_server"),
                 "--set", "role.trainer.command=" + shell("parameter_server_trainer --examples 1600 --epochs 1")},
                90s};

  void kill_when_all_train(const std::string& node) {
    const std::string said = "[" + node + "] pid ";
    const std::string line = run.wait_for(said);
    run.wait_for("[trainer/0] training");
    run.wait_for("[trainer/1] training");
    ::kill(std::stoi(line.substr(said.size())), SIGKILL);
  }
};

/// Returns the lines of `node` that are neither progress nor log.
std::vector<std::string> last_words(const TroupeRun::Result& result, const std::string& node) {
  std::vector<std::string> found;
  for (const std::string& line : result.lines) {
    const bool is_own = line.starts_with("[" + node + "] ");
    const auto has = [&](const char* text) { return line.find(text) != std::string::npos; };
    if (is_own && !has(" training ") && !has(" pid ") && !has(" warning ")) found.push_back(line);
  }
  return found;
}

bool is_among(const std::string& line, const std::vector<std::string>& lines) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(parameter_server_deaths, Demo)

BOOST_AUTO_TEST_CASE(without_the_server_each_trainer_ends_within_two_seconds_with_one_line_that_names_it,
                     *boost::unit_test::label("fault-F12") * boost::unit_test::label("scenario-D4")) {
  kill_when_all_train("ps");
  const auto killed = Clock::now();
  const TroupeRun::Result result = run.finish();
  BOOST_TEST(std::chrono::duration<double>(Clock::now() - killed).count() < 2.0);
  for (const std::string node : {"trainer/0", "trainer/1"}) {
    const auto words = last_words(result, node);
    BOOST_TEST_REQUIRE(words.size() == 1U);
    BOOST_TEST(words[0].find("peer_down") != std::string::npos);
    BOOST_TEST(words[0].find(" on ps: ") != std::string::npos);
  }
  BOOST_TEST(result.status == 128 + SIGKILL);
  BOOST_TEST(result.last().starts_with("[ps] killed by signal 9"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(without_a_trainer_the_other_goes_on_to_its_end,
                     *boost::unit_test::label("fault-F26") * boost::unit_test::label("scenario-D4")) {
  kill_when_all_train("trainer/1");
  const TroupeRun::Result result = run.finish();
  // 1600 examples / (32 * 2 trainers)
  BOOST_TEST(is_among("[trainer/0] Training complete! 25 of 25 steps accepted", result.lines));
  BOOST_TEST(last_words(result, "ps").empty());
  BOOST_TEST(last_words(result, "trainer/1").empty());
  BOOST_TEST(result.status == 128 + SIGKILL);
  BOOST_TEST(result.last().starts_with("[trainer/1] killed by signal 9"));
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
