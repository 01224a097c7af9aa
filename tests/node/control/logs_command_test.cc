#include "node/control/logs_command.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/troupe_run.h"

namespace troupe::testing {
namespace {

using detail::LogText;
using detail::without_commands;

BOOST_AUTO_TEST_SUITE(logs_command)

BOOST_AUTO_TEST_CASE(lines_have_names_when_they_are_of_several_nodes) {
  const std::vector<LogLine> lines{{"ps", 4, false, "one"}, {"trainer0", 9, true, ""}, {"ps", 5, false, "two"}};
  BOOST_TEST(LogText(LogText::Names::shown).of(lines) == "[ps] one\n[trainer0] \n[ps] two\n");
  BOOST_TEST(LogText(LogText::Names::hidden).of(lines) == "one\n\ntwo\n");
}

BOOST_AUTO_TEST_CASE(lines_that_are_missing_are_counted) {
  LogText text(LogText::Names::shown);
  BOOST_TEST(text.of(std::vector<LogLine>{{"ps", 4, false, "a"}, {"ps", 8, false, "b"}}) ==
             "[ps] a\n[ps] ... 3 lines are not kept any more\n[ps] b\n");
  BOOST_TEST(text.of(std::vector<LogLine>{{"trainer0", 7, false, "c"}, {"ps", 9, false, "d"}}) ==
             "[trainer0] c\n[ps] d\n");
}

BOOST_AUTO_TEST_CASE(no_line_commands_the_terminal, *boost::unit_test::label("attack")) {
  BOOST_TEST(without_commands("\x1b[1;31mred\x1b[0m and \x1b[2Jplain") == "red and plain");
  BOOST_TEST(without_commands("\x1b]0;title\x07\r\t\x7f.") == "\\x1b]0;title\\x07  \\x7f.");
  BOOST_TEST(without_commands("\x1b[") == "");
  BOOST_TEST(without_commands("\x1b[12") == "");
  BOOST_TEST(without_commands("\x1b") == "\\x1b");
  BOOST_TEST(without_commands("grüße") == "grüße");
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_refused_by_each_command) {
  const auto check = [](std::vector<std::string> arguments, const std::string& refusal) {
    const std::string command = arguments.front();
    const auto result = TroupeRun(".", std::move(arguments)).finish();
    BOOST_TEST(result.status == 2);
    BOOST_TEST(result.last() == "troupe: " + refusal + " (see troupe " + command + " --help)");
  };
  for (const std::string number : {"nan", "-nan", "inf", "-1", "0", "2s", ""}) {
    check({"status", "--timeout", number}, "--timeout: \"" + number + "\" is no number of seconds from 0.001 to 3600");
    check({"doctor", "h", "--timeout", number},
          "--timeout: \"" + number + "\" is no number of seconds from 0.1 to 3600");
  }
  for (const std::string number : {"-1", "1.5", "99999999999999999999", "many", ""}) {
    check({"logs", "--lines", number}, "--lines: \"" + number + "\" is no number from 0 on");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
