#include "node/log.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {
BOOST_AUTO_TEST_SUITE(log_text)

BOOST_AUTO_TEST_CASE(an_entry_shows_what_it_was_given) {
  BOOST_TEST(detail::entry_text("rpc add failed on ps0: größer als 3\t(4)") ==
             "rpc add failed on ps0: größer als 3\t(4)");
  BOOST_TEST(detail::entry_text("").empty());
}

BOOST_AUTO_TEST_CASE(text_of_any_size_takes_a_bounded_entry) {
  const std::string most(16 << 10, 'e');
  BOOST_TEST(detail::entry_text(most) == most);
  BOOST_TEST(detail::entry_text(most + most) == most + " [16384 more bytes]");
  const std::string before(most.substr(1));
  BOOST_TEST(detail::entry_text(before + "\xc3\xa9!") == before + " [3 more bytes]");
}

BOOST_AUTO_TEST_CASE(text_of_a_peer_forges_no_entry_and_commands_no_terminal) {
  BOOST_TEST(detail::entry_text("f\n12:00:00.000 error the disk is full") ==
             "f\n    12:00:00.000 error the disk is full");
  BOOST_TEST(detail::entry_text("a\rb\x1b[2J\x7f") == "a\\x0db\\x1b[2J\\x7f");
  BOOST_TEST(detail::entry_text("a\xc2\x9b"
                                "2Jb") == "a\\x9b2Jb");
  BOOST_TEST(detail::entry_text(std::string("a\0b", 3)) == "a\\x00b");
  BOOST_TEST(detail::entry_text("\xc2") == "\xc2");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
