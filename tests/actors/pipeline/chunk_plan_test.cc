#include "actors/pipeline/chunk_plan.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(chunk_plan)

using Sizes = std::vector<std::int64_t>;

BOOST_AUTO_TEST_CASE(all_micro_batches_have_as_many_rows_but_the_last_one) {
  BOOST_TEST(chunk_sizes(8, 4) == (Sizes{2, 2, 2, 2}));
  BOOST_TEST(chunk_sizes(7, 4) == (Sizes{2, 2, 2, 1}));
  BOOST_TEST(chunk_sizes(10, 3) == (Sizes{4, 4, 2}));
  BOOST_TEST(chunk_sizes(6, 1) == (Sizes{6}));
}

BOOST_AUTO_TEST_CASE(batch_with_too_few_rows_has_fewer_micro_batches) {
  BOOST_TEST(chunk_sizes(3, 8) == (Sizes{1, 1, 1}));
  BOOST_TEST(chunk_sizes(6, 4) == (Sizes{2, 2, 2}));
  BOOST_TEST(chunk_sizes(1, 1'000'000) == (Sizes{1}));
}

BOOST_AUTO_TEST_CASE(every_row_is_in_one_micro_batch_for_every_size) {
  for (std::int64_t batch = 1; batch <= 40; ++batch) {
    for (std::int64_t chunks = 1; chunks <= 45; ++chunks) {
      const Sizes sizes = chunk_sizes(batch, chunks);
      BOOST_TEST(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == batch);
      BOOST_TEST(std::ssize(sizes) <= chunks);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        BOOST_TEST(sizes[i] > 0);
        if (i + 1 < sizes.size()) BOOST_TEST(sizes[i] == sizes[0]);
      }
      BOOST_TEST(sizes.back() <= sizes.front());
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_with_unequal_numbers_of_rows_are_refused_with_both_named) {
  BatchRows rows;
  rows.add("input 0", std::nullopt);
  rows.add("input 1", 8);
  rows.add("input 2", 8);
  BOOST_TEST(rows.sizes(2) == (Sizes{4, 4}));
  testing::expect_throw<ShapeError>([&] { rows.add("input 3", 6); }, "[Pipeline] input 1 has 8 rows, input 3 has 6");
}

BOOST_AUTO_TEST_CASE(batch_that_cannot_be_split_is_refused) {
  testing::expect_throw<std::invalid_argument>([] { static_cast<void>(BatchRows().sizes(2)); },
                                               "[Pipeline] no input is a tensor that can be split");
  BatchRows none;
  none.add("input 0", 0);
  testing::expect_throw<std::invalid_argument>([&] { static_cast<void>(none.sizes(2)); },
                                               "[Pipeline] input 0 has no rows");
  BatchRows some;
  some.add("input 0", 4);
  testing::expect_throw<std::invalid_argument>([&] { static_cast<void>(some.sizes(0)); },
                                               "[Pipeline] chunks below 1: 0");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
