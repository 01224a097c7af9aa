#include "samples/language_model/windows.h"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "tensor/create.h"

BOOST_AUTO_TEST_SUITE(windows)

namespace {

using troupe::from_values;
using troupe::same_bytes;

const std::vector<std::int64_t> kTokens{7, 8, 9, 10, 11};

}  // namespace

BOOST_AUTO_TEST_CASE(every_run_of_words_comes_with_the_word_after_it) {
  const samples::Windows found = samples::windows_of(kTokens, 2);
  BOOST_TEST(found.count() == 3);
  BOOST_TEST(same_bytes(found.words, from_values<std::int64_t>({7, 8, 8, 9, 9, 10}, {3, 2})));
  BOOST_TEST(same_bytes(found.next, from_values<std::int64_t>({9, 10, 11})));
}

BOOST_AUTO_TEST_CASE(rows_are_taken_in_the_order_they_are_asked_for) {
  const samples::Windows some = samples::windows_of(kTokens, 2).at(from_values<std::int64_t>({2, 0}));
  BOOST_TEST(same_bytes(some.words, from_values<std::int64_t>({9, 10, 7, 8}, {2, 2})));
  BOOST_TEST(same_bytes(some.next, from_values<std::int64_t>({11, 9})));
}

BOOST_AUTO_TEST_SUITE_END()
