#include "node/config/string_array.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::detail {
namespace {

void check(std::string_view text, const std::vector<std::string>& wanted) {
  const auto found = parse_string_array(text);
  BOOST_TEST_REQUIRE(found.has_value(), std::string(text));
  BOOST_TEST(*found == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE(string_array)

BOOST_AUTO_TEST_CASE(strings_are_in_either_quotes) {
  check(R"([])", {});
  check(R"(["./ps", "--fast"])", {"./ps", "--fast"});
  check(" [ 'a \"b\" \\' ,\"it's\",\t\"\" , ] ", {R"(a "b" \)", "it's", ""});
}

BOOST_AUTO_TEST_CASE(escapes_are_those_of_toml) {
  check(R"(["sh","-c","printf \"x\""])", {"sh", "-c", "printf \"x\""});
  check(R"(["\\ \b\t\n\f\r"])", {"\\ \b\t\n\f\r"});
  check(R"(["\u0041 \u00e9 \u20AC \U0001F600 \u007f"])", {"A \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f"});
}

BOOST_AUTO_TEST_CASE(other_forms_are_refused) {
  for (const char* text : {"",
                           "a",
                           "[",
                           "[a]",
                           "[1]",
                           "[\"a\"",
                           "[\"a\" \"b\"]",
                           "[,]",
                           "[\"a\",,]",
                           "[\"a\"] x",
                           "[\"a]",
                           "['a]",
                           R"(["\"])",
                           R"(["\x"])",
                           R"(["\d"])",
                           R"(["\u004"])",
                           R"(["\u-041"])",
                           R"(["\ud800"])",
                           R"(["\U00110000"])",
                           "[\"\\",
                           "[\"\"\"a\"\"\"]"}) {
    BOOST_TEST(!parse_string_array(text).has_value(), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
