#include "node/control/report_json.h"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/node/control/report_samples.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(report_json)

using nlohmann::json;

/// Returns the error of parsing `text` as a stack.
std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_stack_report(text));
  } catch (const ReportError& error) {
    return error.what();
  }
  return "";
}

BOOST_AUTO_TEST_CASE(reports_come_back_as_they_were) {
  BOOST_TEST((parse_node_report(json_of(testing::sample_node_report())) == testing::sample_node_report()));
  BOOST_TEST((parse_stack_report(json_of(testing::sample_stack_report())) == testing::sample_stack_report()));
  BOOST_TEST((parse_launch_report(json_of(testing::sample_launch_report())) == testing::sample_launch_report()));
  NodeReport joining;  // all fields unknown, no traffic counts
  BOOST_TEST((parse_node_report(json_of(joining)) == joining));
}

BOOST_AUTO_TEST_CASE(keys_are_the_names_of_the_fields_and_times_are_seconds) {
  const json report = json::parse(json_of(testing::sample_stack_report()));
  BOOST_TEST(report.at("node").at("phase") == "serving");
  BOOST_TEST(report.at("node").at("rank") == 1);
  BOOST_TEST(report.at("node").at("age") == 12.345678);
  BOOST_TEST(report.at("node").at("counts").at("traffic").at("trainer").at("bytes_sent") == 3000);
  const json& call = report.at("stack").at("calls").at(0);
  BOOST_TEST(call.at("operation") == "rpc forward");
  BOOST_TEST(call.at("left") == 58.8);
  BOOST_TEST(report.at("stack").at("calls").at(1).at("left").is_null());
  BOOST_TEST(report.at("stack").at("values").at(0).at("users").at(0).at("state") == "has_turn");
  BOOST_TEST(report.at("stack").at("barriers").at(0).at("waiting").at(0).at(0) == "trainer");
}

BOOST_AUTO_TEST_CASE(an_error_is_told_and_nonsense_is_called_so) {
  BOOST_TEST(complaint(json_of_error("it has shut down")) == "it has shut down");
  BOOST_TEST(complaint(R"({"error": 7})").starts_with("its answer makes no sense: "));
  for (const std::string text : {"", "{", "[]", "{}", "7", "null", "\xff", R"({"node": {}, "stack": []})"}) {
    BOOST_TEST(complaint(text).starts_with("its answer makes no sense: "), text);
  }
  BOOST_TEST(complaint(std::string(1'000'000, '[')).starts_with("its answer makes no sense: "));
}

BOOST_AUTO_TEST_CASE(each_missing_or_wrong_field_is_nonsense_and_an_unknown_one_is_not) {
  const json whole = json::parse(json_of(testing::sample_node_report()));
  for (const auto& [key, value] : whole.items()) {
    json part = whole;
    part.erase(key);
    BOOST_CHECK_THROW(static_cast<void>(parse_node_report(part.dump())), ReportError);
    if (key == "phase") continue;  // an unknown phase reads as the first one, as enumerations do here
    part[key] = "wrong";
    BOOST_CHECK_THROW(static_cast<void>(parse_node_report(part.dump())), ReportError);
  }
  for (const double age : {9.3e9, -9.3e9, 1e300, -1e300}) {
    json part = whole;
    part["age"] = age;
    BOOST_CHECK_THROW(static_cast<void>(parse_node_report(part.dump())), ReportError);
  }
  json more = whole;
  more["of_a_later_version"] = 1;
  BOOST_TEST((parse_node_report(more.dump()) == testing::sample_node_report()));
}

BOOST_AUTO_TEST_CASE(shared_memory_of_an_older_node_is_read_without_that_of_gpus) {
  NodeReport report = testing::sample_node_report();
  json older = json::parse(json_of(report));
  BOOST_TEST(older.at("counts").at("shared_memory").erase("gpu_bytes") == 1U);
  report.counts.shared_memory->gpu_bytes = 0;
  BOOST_TEST((parse_node_report(older.dump()) == report));
}

BOOST_AUTO_TEST_CASE(transports_are_keyed_by_peer_and_a_node_of_an_older_version_has_none) {
  json report = json::parse(json_of(testing::sample_node_report()));
  json& counts = report.at("counts");
  BOOST_TEST(counts.at("transports").at("trainer").at("way") == "shared memory");
  BOOST_TEST(counts.at("transports").at("trainer").at("why") == "no ring: why");
  counts["transports"] = 7;
  BOOST_CHECK_THROW(static_cast<void>(parse_node_report(report.dump())), ReportError);
  counts.erase("transports");
  NodeReport without = testing::sample_node_report();
  without.counts.transports.clear();
  BOOST_TEST((parse_node_report(report.dump()) == without));
  counts.erase("traffic");
  BOOST_CHECK_THROW(static_cast<void>(parse_node_report(report.dump())), ReportError);
}

BOOST_AUTO_TEST_CASE(nodes_of_an_older_launcher_are_read_without_their_lost_lines) {
  const LaunchedNode node{"ps0", 101, "", "b", 12'345};
  BOOST_TEST((parse_launched_node(json_of(node)) == node));
  const json whole = json::parse(json_of(node));
  for (const auto& [key, value] : whole.items()) {
    json part = whole;
    part.erase(key);
    if (key == "lost_lines") BOOST_TEST((parse_launched_node(part.dump()) == LaunchedNode{"ps0", 101, "", "b"}));
    else BOOST_CHECK_THROW(static_cast<void>(parse_launched_node(part.dump())), ReportError);
    part[key] = json::array();
    BOOST_CHECK_THROW(static_cast<void>(parse_launched_node(part.dump())), ReportError);
  }
}

BOOST_AUTO_TEST_CASE(lines_of_an_older_launcher_are_read_without_their_end) {
  const LogReport report{.next = 7, .end = 9, .more = true, .over = false, .lines = {{"ps", 4, false, "one"}}};
  BOOST_TEST((parse_log_report(json_of(report)) == report));
  json older = json::parse(json_of(report));
  older.erase("end");
  LogReport without_end = report;
  without_end.end = 0;
  BOOST_TEST((parse_log_report(older.dump()) == without_end));
  older.erase("next");
  BOOST_CHECK_THROW(static_cast<void>(parse_log_report(older.dump())), ReportError);
}

BOOST_AUTO_TEST_CASE(call_with_any_deadline_comes_back) {
  const auto left_of = [](Duration left) {
    StackReport report = testing::sample_stack_report();
    report.stack.calls.at(0).left = left;
    return parse_stack_report(json_of(report)).stack.calls.at(0).left;
  };
  constexpr std::chrono::hours kCentury(24 * 36525);
  BOOST_TEST((left_of(kCentury) == kCentury));
  BOOST_TEST((left_of(-kCentury) == -kCentury));
  for (const Duration left : {Duration::max(), Duration::min()})
    BOOST_TEST((*left_of(left) == std::chrono::duration_cast<std::chrono::microseconds>(left)));
}

BOOST_AUTO_TEST_CASE(names_that_are_no_utf8_travel_as_something_that_is) {
  StackReport report;
  report.stack.served = {{"rpc \xff", "trainer", {}}};
  BOOST_TEST(parse_stack_report(json_of(report)).stack.served.at(0).operation == "rpc \xEF\xBF\xBD");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
