#include "node/node_name.h"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(node_name)

BOOST_AUTO_TEST_CASE(names_have_few_characters_and_configured_ones_are_shorter) {
  for (const std::string name : {"a", "Trainer_0-a:1.b", "AZaz09-_:."}) {
    BOOST_TEST(is_valid_node_name(name), name);
    BOOST_TEST(is_valid_configured_name(name), name);
  }
  for (const std::string name : {"", "a b", "a/b", "a@b", "a\n", "\u00e9"}) {
    BOOST_TEST(!is_valid_node_name(name), name);
    BOOST_TEST(!is_valid_configured_name(name), name);
  }
  BOOST_TEST(is_valid_configured_name(std::string(64, 'a')));
  BOOST_TEST(!is_valid_configured_name(std::string(65, 'a')));
  BOOST_TEST(is_valid_node_name(std::string(127, 'a')));
  BOOST_TEST(!is_valid_node_name(std::string(128, 'a')));
}

BOOST_AUTO_TEST_CASE(rules_as_text_have_the_lengths_that_are_checked) {
  BOOST_TEST(kNodeNameRule.find(" " + std::to_string(kNodeNameMax) + " ") != std::string_view::npos);
  BOOST_TEST(kConfiguredNameRule.find(" " + std::to_string(kConfiguredNameMax) + " ") != std::string_view::npos);
}

BOOST_AUTO_TEST_SUITE_END()
