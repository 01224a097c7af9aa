#include "samples/language_model/columns.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "tensor/create.h"

BOOST_AUTO_TEST_SUITE(columns)

using troupe::from_values;
using troupe::same_bytes;

BOOST_AUTO_TEST_CASE(each_column_is_a_stretch_of_the_text_and_goes_on_in_the_next_piece) {
  // 11 tokens in 2 columns: 1 to 5 and 6 to 10; the last token fills no row.
  const std::vector<std::int64_t> tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<samples::Rows> pieces = samples::folded(tokens, 2, 3);
  BOOST_REQUIRE(pieces.size() == 2U);
  BOOST_TEST(same_bytes(pieces[0].words, from_values<std::int64_t>({1, 6, 2, 7, 3, 8}, {3, 2})));
  BOOST_TEST(same_bytes(pieces[0].next, from_values<std::int64_t>({2, 7, 3, 8, 4, 9})));
  BOOST_TEST(same_bytes(pieces[1].words, from_values<std::int64_t>({4, 9}, {1, 2})));
  BOOST_TEST(same_bytes(pieces[1].next, from_values<std::int64_t>({5, 10})));
}

BOOST_AUTO_TEST_CASE(one_column_is_the_text_itself) {
  const std::vector<std::int64_t> tokens{7, 8, 9};
  const std::vector<samples::Rows> pieces = samples::folded(tokens, 1, 100);
  BOOST_REQUIRE(pieces.size() == 1U);
  BOOST_TEST(same_bytes(pieces[0].words, from_values<std::int64_t>({7, 8}, {2, 1})));
  BOOST_TEST(same_bytes(pieces[0].next, from_values<std::int64_t>({8, 9})));
}

BOOST_AUTO_TEST_SUITE_END()
