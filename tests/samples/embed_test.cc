// The service and its model node as processes: which end ends the other.
#include <boost/test/unit_test.hpp>

#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The sample on any free port. Its processes print their ids first.
struct Service {
  static std::string shell(const std::string& command) {
    const std::filesystem::path programs = std::filesystem::path(TROUPE_PROGRAM).parent_path();
    return "[\"sh\", \"-c\", \"echo pid $$; exec " + (programs / command).string() + "\"]";
  }

  TroupeRun run{TROUPE_SOURCE_DIR,
                {"up", "samples/embed/cluster.toml", "--set", "role.service.command=" + shell("embed --port 0"),
                 "--set", "role.model.command=" + shell("embed_model")},
                60s};

  static int number_after(const std::string& line, const std::string& text) {
    return std::stoi(line.substr(line.find(text) + text.size()));
  }
  int pid(const std::string& node) {
    const std::string said = "[" + node + "] pid ";
    return number_after(run.wait_for(said), said);
  }
  int port() {
    const std::string said = "listening on http://127.0.0.1:";
    return number_after(run.wait_for(said), said);
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(embed, Service)

BOOST_AUTO_TEST_CASE(on_sigterm_the_service_and_its_model_end_without_a_complaint) {
  const int service = pid("service");
  httplib::Client client("127.0.0.1", port());
  client.set_keep_alive(true);  // keeps its connection open
  BOOST_TEST(client.Get("/health")->status == 200);
  ::kill(service, SIGTERM);
  const TroupeRun::Result result = run.finish();
  BOOST_TEST(result.status == 0);
  for (const std::string& line : result.lines) BOOST_TEST(line.find("warning") == std::string::npos, line);
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_CASE(without_its_model_the_service_says_so_within_a_second_and_goes_on) {
  const int service = pid("service");
  const int model = pid("model");
  httplib::Client client("127.0.0.1", port());
  const char* const question = R"({"points": [[0, 1]]})";
  BOOST_TEST(client.Post("/predict", question, "application/json")->status == 200);
  ::kill(model, SIGKILL);
  run.wait_for("[model] killed by signal 9");
  const auto killed = Clock::now();
  const auto answer = client.Post("/predict", question, "application/json");
  BOOST_TEST(std::chrono::duration<double>(Clock::now() - killed).count() < 1.0);
  BOOST_TEST(answer->status == 503);
  BOOST_TEST(client.Get("/health")->status == 503);
  ::kill(service, SIGTERM);
  const TroupeRun::Result result = run.finish();
  BOOST_TEST(result.status == 128 + SIGKILL);  // the first failure
  BOOST_TEST(run.all_gone());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
