#include "node/text_table.h"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(text_table)

using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(columns_are_as_wide_as_their_widest_cell) {
  TextTable table({{"NODE"}, {"CALLS", TextTable::Align::right}, {"STATE"}});
  BOOST_TEST(table.empty());
  table.add({"ps", "7", "up"});
  table.add({"trainer0", "1000000", ""});
  BOOST_TEST(!table.empty());
  BOOST_TEST(table.text() ==
             "NODE        CALLS  STATE\n"
             "ps              7  up\n"
             "trainer0  1000000\n");
}

BOOST_AUTO_TEST_CASE(the_last_cell_of_a_short_row_makes_no_column_wider) {
  TextTable table({{"NODE"}, {"STATE"}, {"UP", TextTable::Align::right}});
  table.add({"ps", "up", "12 s"});
  table.add({"trainer", "no answer within 2000 ms: its process is stopped"});
  BOOST_TEST(table.text(2) ==
             "  NODE     STATE    UP\n"
             "  ps       up     12 s\n"
             "  trainer  no answer within 2000 ms: its process is stopped\n");
}

BOOST_AUTO_TEST_CASE(times_have_the_unit_that_people_would_take) {
  BOOST_TEST(shown(0s) == "0 ms");
  BOOST_TEST(shown(999'999us) == "999 ms");
  BOOST_TEST(shown(1s) == "1.0 s");
  BOOST_TEST(shown(59'940ms) == "59.9 s");
  BOOST_TEST(shown(250s) == "4 min 10 s");
  BOOST_TEST(shown(2h + 5min + 59s) == "2 h 5 min");
  BOOST_TEST(shown(24h * 3 + 4h) == "3 d 4 h");
  BOOST_TEST(shown(-3s) == "-3000 ms");  // a past deadline
}

BOOST_AUTO_TEST_CASE(bytes_have_the_unit_that_people_would_take) {
  BOOST_TEST(shown_bytes(0) == "0 B");
  BOOST_TEST(shown_bytes(999) == "999 B");
  BOOST_TEST(shown_bytes(1000) == "1.0 kB");
  BOOST_TEST(shown_bytes(999'949) == "999.9 kB");
  BOOST_TEST(shown_bytes(999'950) == "1.0 MB");
  BOOST_TEST(shown_bytes(3'400'000'000) == "3.4 GB");
  BOOST_TEST(shown_bytes(~std::uint64_t{0}) == "18446.7 PB");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
