// Built-in values that depend on others.
#include "node/config/settings.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "actors/sessions/silence_limits.h"
#include "node/config/config.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

/// Returns the heartbeat and the suspicion that `troupe config show --origin` shows for a file with `cluster` in its
/// section [cluster], and with `tables`.
std::string times_of(const std::string& cluster, const std::string& tables = {}) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() / "cluster.toml";
  std::ofstream(file) << "[cluster]\n" << cluster << tables << "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  const ClusterConfig config = load_config(file, {}, {});
  std::string text;
  for (const ConfigEntry& entry : config.entries) {
    if (entry.key != "cluster.heartbeat" && entry.key != "cluster.suspicion") continue;
    const bool is_given = entry.origin.layer == Origin::Layer::file;
    text += entry.value + " " + (is_given ? "given" : entry.origin.text()) + "\n";
  }
  return text;
}

BOOST_AUTO_TEST_SUITE(settings)

BOOST_AUTO_TEST_CASE(failure_times_have_defaults_per_network) {
  BOOST_TEST(times_of("") ==
             "\"100ms\" built-in default (with keys 200ms)\n\"200ms\" built-in default (with keys 800ms)\n");
  BOOST_TEST(times_of("network = \"loopback\"\n") == "\"100ms\" built-in default\n\"200ms\" built-in default\n");
  for (const std::string network : {"network = \"keys\"", "network = \"trusted\""}) {
    BOOST_TEST(times_of(network + "\n") ==
               "\"200ms\" built-in default with " + network + "\n\"800ms\" built-in default with " + network + "\n");
  }
  BOOST_TEST(times_of("", "[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n") ==
             "\"200ms\" built-in default between hosts\n\"800ms\" built-in default between hosts\n");
  BOOST_TEST(times_of("network = \"keys\"\nheartbeat = \"100ms\"\nsuspicion = \"200ms\"\n") ==
             "\"100ms\" given\n\"200ms\" given\n");
}

BOOST_AUTO_TEST_CASE(times_that_are_shown_are_those_of_nodes_that_are_told_none) {
  const FailureDetectorOptions near;
  const FailureDetectorOptions far = silence_between_machines();
  for (const SettingSpec& spec : cluster_setting_specs()) {
    if (spec.key != "heartbeat" && spec.key != "suspicion") continue;
    const auto limit =
        spec.key == "heartbeat" ? &FailureDetectorOptions::heartbeat_min : &FailureDetectorOptions::suspicion;
    const auto time = [&](std::string_view text) {
      return std::get<std::chrono::milliseconds>(checked(spec, Untyped{std::string(text)}));
    };
    BOOST_CHECK(time(spec.fallback) == near.*limit);
    BOOST_CHECK(time(spec.between_machines) == far.*limit);
  }
}

// There is no setting for a secret: only files and descriptors have one. Also where the quotes were forgotten.
BOOST_AUTO_TEST_CASE(secret_in_the_configuration_is_refused_and_not_shown, *boost::unit_test::label("S13")) {
  const std::string secret = "9f86d081884c7d659a2feaa0c55ad015";
  const std::string role = "[[role]]\nname = \"ps\"\ncommand = [\"./ps\"]\n";
  const auto is_refused_without_it = [&](const std::string& text, const Variables& variables = {},
                                         const std::vector<std::string>& sets = {}) {
    const testing::TemporaryDirectory directory;
    const std::string file = directory.path() / "cluster.toml";
    std::ofstream(file) << text;
    try {
      static_cast<void>(load_config(file, variables, sets));
      return false;
    } catch (const ConfigError& error) {
      return std::string(error.what()).find(secret.substr(0, 8)) == std::string::npos &&
             std::ranges::none_of(error.lines(), [&](const std::string& line) {
               return line.find(secret.substr(0, 8)) != std::string::npos;
             });
    }
  };
  BOOST_TEST(is_refused_without_it("[cluster]\ncolour = 1\n" + role));
  BOOST_TEST(!is_refused_without_it("[cluster]\nname = \" " + secret + "\"\n" + role));  // what is no secret is shown
  for (const std::string key : {"secret", "secret_key", "token"}) {
    for (const std::string& value : {'"' + secret + '"', secret, '"' + secret}) {
      BOOST_TEST(is_refused_without_it("[cluster]\n" + key + " = " + value + "\n" + role), key + " " + value);
      BOOST_TEST(is_refused_without_it("[node]\n" + key + " = " + value + "\n" + role), key + " " + value);
      BOOST_TEST(is_refused_without_it(role + key + " = " + value + "\n"), key + " " + value);
    }
    BOOST_TEST(is_refused_without_it(role, {}, {"cluster." + key + "=" + secret}), key);
  }
  BOOST_TEST(is_refused_without_it(role, {{"TROUPE__CLUSTER__SECRET", secret}}));
  BOOST_TEST(is_refused_without_it(role + "env = {TROUPE_SECRET_FILE = \"" + secret + "\"}\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
