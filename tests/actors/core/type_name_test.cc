#include "actors/core/type_name.h"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(type_name_of)

struct Plain {};

BOOST_AUTO_TEST_CASE(name_is_the_one_that_a_program_writes) {
  BOOST_TEST(type_name(typeid(int)) == "int");
  BOOST_TEST(type_name(typeid(Plain)) == "troupe::detail::type_name_of::Plain");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
