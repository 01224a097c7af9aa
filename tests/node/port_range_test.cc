#include "node/port_range.h"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(port_range)

BOOST_AUTO_TEST_CASE(ranges_are_two_ports_with_a_dash) {
  const auto range = PortRange::parse("29500-29599");
  BOOST_REQUIRE(range.has_value());
  BOOST_TEST(range->low == 29500);
  BOOST_TEST(range->high == 29599);
  BOOST_TEST(range->size() == 100);
  BOOST_TEST(range->text() == "29500-29599");
  BOOST_TEST((PortRange::parse("1-65535") == PortRange{1, 65535}));
  BOOST_TEST((PortRange::parse("7-7") == PortRange{7, 7}));
}

BOOST_AUTO_TEST_CASE(other_texts_are_no_range) {
  for (const char* text : {"", "-", "29500", "29500-", "-29500", "0-10", "10-9", "1-65536", "1-99999999999", "1--2",
                           "-1-2", "1-2-3", " 1-2", "1-2 ", "1 - 2", "a-b", "0x1-2", "*", "1-*"}) {
    BOOST_TEST(!PortRange::parse(text), text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
