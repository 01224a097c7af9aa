#include "node/links/shared_memory/spin.h"

#include <boost/test/unit_test.hpp>

namespace troupe::testing {
namespace {

using detail::Spin;

constexpr Spin::Clock::time_point kBegin{};

/// Returns how many looks of `times` sleeps are made if each finds `something`.
int looks(Spin& spin, int times, bool something) {
  int made = 0;
  for (int i = 0; i < times; ++i) {
    if (!spin.is_due(kBegin)) continue;
    ++made;
    spin.ended(kBegin, kBegin + Spin::kLimit, something);
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
  BOOST_TEST(looks(spin, 100, false) <= 8);
  BOOST_TEST(looks(spin, 10'240, false) == 320);
}

BOOST_AUTO_TEST_CASE(one_that_finds_something_brings_them_back) {
  Spin spin;
  static_cast<void>(looks(spin, 5'000, false));
  while (!spin.is_due(kBegin)) {
  }
  spin.ended(kBegin, kBegin, true);
  BOOST_TEST(looks(spin, 100, true) == 100);
}

BOOST_AUTO_TEST_CASE(one_that_finds_nothing_after_others_that_did_leaves_no_look_out) {
  Spin spin;
  BOOST_TEST(looks(spin, 2, false) == 2);
  BOOST_TEST(looks(spin, 1, true) == 0);
  BOOST_TEST(looks(spin, 1, true) == 1);
}

BOOST_AUTO_TEST_CASE(none_is_made_for_a_while_after_other_programs_had_the_processor) {
  for (const bool something : {false, true}) {
    Spin spin;
    BOOST_TEST(spin.is_due(kBegin));
    const auto end = kBegin + Spin::kTooLong;
    spin.ended(kBegin, end, something);
    BOOST_TEST(!spin.is_due(end));
    BOOST_TEST(!spin.is_due(end + Spin::kRest - std::chrono::nanoseconds(1)));
    BOOST_TEST(spin.is_due(end + Spin::kRest));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
