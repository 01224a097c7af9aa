#include "messages/did_you_mean.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(guesses)

BOOST_AUTO_TEST_CASE(the_closest_name_is_meant_if_it_is_close) {
  const std::vector<std::string_view> known{"trainer", "ps0", "ps1", "a"};
  BOOST_TEST(did_you_mean("trainr", known) == ", did you mean \"trainer\"?");   // one letter more
  BOOST_TEST(did_you_mean("tariner", known) == ", did you mean \"trainer\"?");  // two neighbours the other way round
  BOOST_TEST(did_you_mean("trinr", known) == ", did you mean \"trainer\"?");
  BOOST_TEST(did_you_mean("trnr", known).empty());                     // three edits
  BOOST_TEST(did_you_mean("ps", known) == ", did you mean \"ps0\"?");  // the first of equals
  BOOST_TEST(did_you_mean("b", known).empty());                        // another name altogether
  BOOST_TEST(did_you_mean("", known).empty());
  BOOST_TEST(did_you_mean("trainer", {}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
