#include "autograd/format.h"

#include <fmt/format.h>

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(format)

BOOST_AUTO_TEST_CASE(a_variable_is_formatted_as_its_value) {
  const Variable w = leaf({1.0, 2.5});
  BOOST_CHECK_EQUAL(fmt::format("w = {}, twice {}", w, w.value()), "w = [1.  2.5], twice [1.  2.5]");
  BOOST_CHECK_EQUAL(fmt::format("{:>5}|{}", sum(w), Variable()), "  3.5|undefined");
}

BOOST_AUTO_TEST_SUITE_END()
