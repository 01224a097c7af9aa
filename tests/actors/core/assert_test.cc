#include "actors/core/assert.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::detail {
namespace {

BOOST_AUTO_TEST_SUITE(assertions)

int made = 0;

std::string text() {
  ++made;
  return "[test] of 3 values";
}

BOOST_AUTO_TEST_CASE(broken_invariant_says_what_where_and_which_condition) {
  const int held = 0;
  const std::string line = std::to_string(__LINE__ + 1);
  BOOST_CHECK_EXCEPTION(TROUPE_ASSERT(held > 0, text()), BrokenInvariant, [&](const BrokenInvariant& error) {
    return error.what() == "[test] of 3 values (assert_test.cc:" + line + ": held > 0 is false)";
  });
}

BOOST_AUTO_TEST_CASE(invariant_that_holds_makes_no_text) {
  made = 0;
  const int held = 1;
  TROUPE_ASSERT(held > 0, text());
  BOOST_TEST(made == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
