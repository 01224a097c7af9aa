#include "node/visible_text.h"

#include <boost/test/unit_test.hpp>

using namespace troupe::detail;

BOOST_AUTO_TEST_SUITE(visible_text_of_others)

BOOST_AUTO_TEST_CASE(a_terminal_is_not_given_orders) {
  BOOST_TEST(visible_text("rpc a\n\x1b[2J\tb\x7f") == "rpc a\n\\x1b[2J\tb\\x7f");
  BOOST_TEST(visible_line("rpc a\r\n\x1b[2J\tb\x7f") == "rpc a  \\x1b[2J b\\x7f");
}

BOOST_AUTO_TEST_CASE(orders_of_two_bytes_are_shown_and_letters_stay) {
  BOOST_TEST(visible_line("\xc2\x9b"
                          "2J") == "\\x9b2J");  // CSI in UTF-8
  BOOST_TEST(visible_line("Gr\xc3\xb6\xc3\x9f"
                          "e") == "Größe");
  BOOST_TEST(visible_line("\xc2") == "\xc2");
}

BOOST_AUTO_TEST_SUITE_END()
