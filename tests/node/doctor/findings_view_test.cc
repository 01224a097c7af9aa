// What `troupe doctor` prints.
#include "node/doctor/findings_view.h"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(findings_view)

namespace {

const std::vector<HostFindings> kTwoHosts{
    {"a", {{Mark::ok, "login", "there", ""}, {Mark::warning, "stream_ports", "0 of 3", "widen"}}},
    {"b\x1b[1m", {{Mark::problem, "login", "two\nlines", "log in"}}}};

}  // namespace

BOOST_AUTO_TEST_CASE(each_finding_is_a_line_and_so_is_each_hint) {
  BOOST_TEST(text_of(kTwoHosts) ==
             "a\n"
             "  ok       login         there\n"
             "  warning  stream_ports  0 of 3\n"
             "                         widen\n"
             "b\\x1b[1m\n"
             "  problem  login         two lines\n"
             "                         log in\n"
             "doctor: 2 hosts, 1 problem, 1 warning\n");
  BOOST_TEST(text_of({}) == "doctor: 0 hosts, 0 problems, 0 warnings\n");
}

BOOST_AUTO_TEST_CASE(json_has_the_same_with_the_texts_as_they_are) {
  const auto whole = nlohmann::json::parse(json_of(kTwoHosts));
  BOOST_TEST(whole.at("problems") == 1);
  BOOST_TEST(whole.at("warnings") == 1);
  const auto& finding = whole.at("hosts").at(1).at("findings").at(0);
  BOOST_TEST(whole.at("hosts").at(1).at("host") == "b\x1b[1m");
  BOOST_TEST(finding.at("mark") == "problem");
  BOOST_TEST(finding.at("check") == "login");
  BOOST_TEST(finding.at("seen") == "two\nlines");
  BOOST_TEST(finding.at("hint") == "log in");
  BOOST_TEST(json_of(std::vector<HostFindings>{{"\xff", {}}}).find("\xEF\xBF\xBD") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
