#include "node/links/shared_memory/spin.h"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {
namespace {

using detail::Spin;

/// Returns how many looks of `times` sleeps are made if each finds `something`.
int looks(Spin& spin, int times, bool something) {
  int made = 0;
  for (int i = 0; i < times; ++i) {
    if (!spin.is_due()) continue;
    ++made;
    spin.found(something);
  }
  return made;
}

BOOST_AUTO_TEST_SUITE(spin)

BOOST_AUTO_TEST_CASE(looks_that_find_something_are_made_each_time) {
  Spin spin;
  BOOST_TEST(looks(spin, 1'000, true) == 1'000);
}

BOOST_AUTO_TEST_CASE(looks_that_find_nothing_become_rare_but_never_end) {
  Spin spin;
  BOOST_TEST(looks(spin, 100, false) <= 7);
  BOOST_TEST(looks(spin, 10'240, false) == 320);
}

BOOST_AUTO_TEST_CASE(one_that_finds_something_brings_them_back) {
  Spin spin;
  static_cast<void>(looks(spin, 5'000, false));
  while (!spin.is_due()) {
  }
  spin.found(true);
  BOOST_TEST(looks(spin, 100, true) == 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
