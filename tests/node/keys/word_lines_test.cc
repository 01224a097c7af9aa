#include "node/keys/word_lines.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

namespace troupe::detail {
namespace {

std::string refusal_of(std::string_view text, const std::function<void(WordLines&)>& read) {
  WordLines lines(text);
  try {
    read(lines);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(word_lines)

BOOST_AUTO_TEST_CASE(lines_are_taken_in_their_order) {
  WordLines lines("troupe-test 1\nname ps\nnumber 17\nbytes 0aff\n");
  lines.kind("troupe-test");
  BOOST_TEST(lines.at("name"));
  BOOST_TEST(!lines.at("number"));
  BOOST_TEST(lines.name("name", 2) == "ps");
  BOOST_TEST(lines.number("number") == 17U);
  std::array<std::byte, 2> bytes{};
  lines.bytes("bytes", bytes);
  BOOST_TEST((bytes == std::array{std::byte{0x0a}, std::byte{0xff}}));
  BOOST_TEST(hex_of(bytes) == "0aff");
  BOOST_TEST(lines.at_end());
  lines.end();
}

BOOST_AUTO_TEST_CASE(words_of_a_line_are_taken_one_by_one) {
  std::string_view line = "one two  four";
  BOOST_TEST(WordLines::next_word(line) == "one");
  BOOST_TEST(WordLines::next_word(line) == "two");
  BOOST_TEST(WordLines::next_word(line).empty());
  BOOST_TEST(WordLines::next_word(line) == "four");
  BOOST_TEST(WordLines::next_word(line).empty());
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_by_its_number_and_its_value_is_not_shown) {
  const auto number = [](WordLines& lines) {
    lines.kind("k");
    (void)lines.number("n");
    lines.end();
  };
  BOOST_TEST(refusal_of("", number) == "line 1: \"k\" is not there");
  BOOST_TEST(refusal_of("k 1", number) == "line 1: \"k\" is not there");
  BOOST_TEST(refusal_of("k 2\nn 3\n", number) == "line 1: \"k\" is of another version of troupe");
  BOOST_TEST(refusal_of("k 1\nm 3\n", number) == "line 2: \"n\" is not there");
  BOOST_TEST(refusal_of("k 1\nn 3x\n", number) == "line 2: \"n\" is not a number");
  BOOST_TEST(refusal_of("k 1\nn -1\n", number) == "line 2: \"n\" is not a number");
  BOOST_TEST(refusal_of("k 1\nn 99999999999999999999\n", number) == "line 2: \"n\" is not a number");
  BOOST_TEST(refusal_of("k 1\nn \n", number) == "line 2: \"n\" is not a text");
  BOOST_TEST(refusal_of("k 1\nn \x1B[2J\n", number) == "line 2: \"n\" is not a text");
  BOOST_TEST(refusal_of("k 1\nn " + std::string(513, '1') + "\n", number) == "line 2: \"n\" is not a text");
  BOOST_TEST(refusal_of("k 1\nn 3\nmore\n", number) == "line 3: something follows the last line");
  const auto secret = [](WordLines& lines) {
    std::array<std::byte, 2> bytes{};
    lines.bytes("s", bytes);
  };
  for (const char* digits : {"0a", "0a0b0c", "0g0b", "0a b", "0a:b", " 0a0"}) {
    BOOST_TEST(refusal_of("s " + std::string(digits) + "\n", secret) == "line 1: \"s\" is not 4 hexadecimal digits");
  }
  const auto name = [](WordLines& lines) { (void)lines.name("n", 3); };
  BOOST_TEST(refusal_of("n abcd\n", name) == "line 1: \"n\" is not a name");
  BOOST_TEST(refusal_of("n a/b\n", name) == "line 1: \"n\" is not a name");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
