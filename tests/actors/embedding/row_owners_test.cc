#include "actors/embedding/row_owners.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <set>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(row_owners)

using detail::OwnedRows;
using detail::owner_of;
using detail::split_indices;

namespace {

std::vector<std::int64_t> numbers(const Tensor& x) {
  const auto all = x.data<std::int64_t>();
  return {all.begin(), all.end()};
}

Tensor indices(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }

}  // namespace

/// Computed from the specification of XXH64, by another program: saved tables rest on it.
BOOST_AUTO_TEST_CASE(owner_of_a_row_is_its_hash_modulo_the_owners) {
  BOOST_TEST(owner_of(0, 1'000'000'007) == 769'470'224);
  BOOST_TEST(owner_of(1, 1'000'000'007) == 166'613'233);
  BOOST_TEST(owner_of(123'456'789, 1'000'000'007) == 302'155'967);
  BOOST_TEST(owner_of(5, 1) == 0);
}

BOOST_AUTO_TEST_CASE(every_row_has_one_owner_and_a_place_in_ascending_order) {
  for (const std::int64_t rows : {1, 63, 64, 65, 1000}) {
    for (const std::int64_t owners : {1, 2, 5}) {
      std::int64_t total = 0;
      for (std::int64_t owner = 0; owner < owners; ++owner) {
        const OwnedRows owned(rows, owners, owner);
        const std::vector<std::int64_t> all = owned.all();
        BOOST_TEST(std::ssize(all) == owned.count());
        total += owned.count();
        std::int64_t before = -1;
        for (std::size_t place = 0; place < all.size(); ++place) {
          BOOST_TEST(owner_of(all[place], owners) == owner);
          BOOST_TEST(owned.has(all[place]));
          BOOST_TEST(owned.place_of(all[place]) == static_cast<std::int64_t>(place));
          BOOST_TEST(owned.next_after(before) == all[place]);
          BOOST_TEST(all[place] > before);
          before = all[place];
        }
        BOOST_TEST(!owned.has(-1));
        BOOST_TEST(!owned.has(rows));
        BOOST_TEST(!owned.has(std::numeric_limits<std::int64_t>::min()));
      }
      BOOST_TEST(total == rows);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_are_spread_evenly) {
  constexpr std::int64_t kRows = 100'000;
  for (std::int64_t owner = 0; owner < 4; ++owner) {
    const std::int64_t count = OwnedRows(kRows, 4, owner).count();
    BOOST_TEST(count > 24'500);  // 25,000 on average; the standard deviation is 137
    BOOST_TEST(count < 25'500);
  }
}

BOOST_AUTO_TEST_CASE(indices_are_split_with_each_row_once_and_put_together_by_their_places) {
  const std::vector<std::int64_t> wanted{7, 3, 7, 0, 11, 3, 7, 4};
  const Tensor shaped = from_values<std::int64_t>(std::span(wanted), {2, 4});
  for (const std::int64_t owners : {1, 2, 3, 20}) {
    const auto split = split_indices(shaped, 12, owners, 11);
    BOOST_TEST(split.places.shape() == (Shape{2, 4}));
    std::vector<std::int64_t> together;
    for (std::size_t owner = 0; owner < split.rows.size(); ++owner) {
      for (const std::int64_t row : numbers(split.rows[owner])) {
        BOOST_TEST(owner_of(row, owners) == static_cast<std::int64_t>(owner));
        together.push_back(row);
      }
    }
    BOOST_TEST(std::set(together.begin(), together.end()).size() == together.size());
    BOOST_TEST(together.size() == 5U);
    const auto places = numbers(split.places);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      BOOST_TEST(together[static_cast<std::size_t>(places[i])] == wanted[i]);
    BOOST_TEST(together[static_cast<std::size_t>(split.padding_place)] == 11);
  }
  BOOST_TEST(numbers(split_indices(shaped, 12, 1, -1).rows[0]) == (std::vector<std::int64_t>{7, 3, 0, 11, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(split_indices(shaped, 12, 1, 5).padding_place == -1);
}

BOOST_AUTO_TEST_CASE(index_out_of_range_is_named) {
  expect_throw<IndexError>(
      [] {
        static_cast<void>(split_indices(indices({4, 5}), 5, 2, -1));
      },
      "[ShardedEmbedding] index out of range: 5 of 5");
  expect_throw<IndexError>([] { static_cast<void>(split_indices(indices({-1}), 5, 2, -1)); },
                           "[ShardedEmbedding] index out of range: -1 of 5");
  expect_throw<DTypeError>([] { static_cast<void>(split_indices(zeros({2}), 5, 2, -1)); },
                           "[ShardedEmbedding] indices are f32");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
