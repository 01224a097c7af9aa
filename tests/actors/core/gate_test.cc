#include "actors/core/gate.h"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(gate)

BOOST_AUTO_TEST_CASE(open_gate_keeps_nothing) {
  Gate<int> gate;
  int item = 1;
  BOOST_TEST(!gate.keep(item));
}

BOOST_AUTO_TEST_CASE(what_was_kept_passes_in_order_and_so_does_what_comes_meanwhile) {
  Gate<int> gate;
  gate.close();
  for (int item : {1, 2}) BOOST_TEST(gate.keep(item));
  std::vector<int> passed;
  gate.open([&](int item) {
    passed.push_back(item);
    int meanwhile = 10 * item;
    if (item < 10) BOOST_TEST(gate.keep(meanwhile));  // queued behind earlier items
  });
  BOOST_TEST(passed == (std::vector<int>{1, 2, 10, 20}), boost::test_tools::per_element());
  int late = 3;
  BOOST_TEST(!gate.keep(late));
}

BOOST_AUTO_TEST_CASE(end_returns_what_was_kept_and_opens) {
  Gate<int> gate;
  gate.close();
  int item = 1;
  BOOST_TEST(gate.keep(item));
  BOOST_TEST(gate.end() == (std::vector<int>{1}), boost::test_tools::per_element());
  BOOST_TEST(!gate.keep(item));
  BOOST_TEST(gate.end().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
