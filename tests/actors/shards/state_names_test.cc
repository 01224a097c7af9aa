#include "actors/shards/state_names.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe::detail {

BOOST_AUTO_TEST_SUITE(state_names)

BOOST_AUTO_TEST_CASE(name_has_a_group_perhaps_a_place_and_a_rest) {
  const auto option = parse_state_name("groups.1.adam.lr");
  BOOST_REQUIRE(option.has_value());
  BOOST_TEST(option->group == 1U);
  BOOST_TEST(!option->place.has_value());
  BOOST_TEST(option->rest == "adam.lr");
  const auto state = parse_state_name("groups.12.parameters.305.exp_avg");
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST(state->group == 12U);
  BOOST_TEST((state->place == 305U));
  BOOST_TEST(state->rest == "exp_avg");
  BOOST_TEST(group_prefix(12) == "groups.12.");
  BOOST_TEST(value_name(12, 305) == "groups.12.parameters.305.value");
}

BOOST_AUTO_TEST_CASE(text_of_another_form_is_no_name) {
  for (const char* text : {"", "groups", "groups.", "groups.1", "groups..lr", "groups.-1.lr", "groups.01.lr",
                           "groups.x.lr", "group.1.lr", "groups.99999999999999999999.lr", "groups.1.parameters.",
                           "groups.1.parameters.x.exp_avg", "groups.1.parameters.3", "groups.1.parameters.03.exp_avg"})
    BOOST_TEST(!parse_state_name(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::detail
