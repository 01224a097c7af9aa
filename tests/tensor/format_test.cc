#include "tensor/format.h"

#include <fmt/format.h>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(format)

BOOST_AUTO_TEST_CASE(a_tensor_is_formatted_as_it_is_printed) {
  BOOST_CHECK_EQUAL(fmt::format("x = {}", from_values<float>({1, 2.5})), "x = [1.  2.5]");
  BOOST_CHECK_EQUAL(fmt::format("{:>6}|{:<4}|{}", scalar(2.5F), scalar(true), Tensor()), "   2.5|true|undefined");
}

BOOST_AUTO_TEST_SUITE_END()
