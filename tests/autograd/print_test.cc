#include "autograd/print.h"

#include <sstream>

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(print)

BOOST_AUTO_TEST_CASE(a_variable_prints_its_value) {
  const Variable w = leaf({1.0, 2.5});
  std::ostringstream out;
  out << w << ' ' << w * 2.0 << ' ' << Variable();
  BOOST_CHECK_EQUAL(out.str(), "[1.  2.5] [2. 5.] undefined");
  BOOST_CHECK_EQUAL(to_string(w), "[1.  2.5]");
}

BOOST_AUTO_TEST_SUITE_END()
