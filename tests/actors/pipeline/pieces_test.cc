#include "actors/pipeline/pieces.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "tensor/create.h"
#include "tests/support/expect_throw.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(pieces)

namespace {

using testing::expect_throw;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

BOOST_AUTO_TEST_CASE(tensors_are_joined_and_other_values_are_those_of_each_micro_batch) {
  using Output = std::tuple<Tensor, std::string, std::int64_t>;
  const auto [rows, name, number] = joined(std::vector<Output>{{ones({2, 3}), "a", 4}, {ones({1, 3}), "a", 4}});
  BOOST_TEST(rows.size(0) == 3);
  BOOST_TEST(name == "a");
  BOOST_TEST(number == 4);
  expect_throw<std::invalid_argument>(
      [] {
        static_cast<void>(joined(std::vector<Output>{{ones({2, 3}), "a", 4}, {ones({1, 3}), "b", 4}}));
      },
      "[Pipeline] output 1 is not the same in all micro-batches");
}

BOOST_AUTO_TEST_CASE(not_a_number_in_every_micro_batch_is_the_same_value) {
  BOOST_TEST(joined(std::vector<double>{kNan, -kNan}) != kNan);
  using Numbers = std::vector<double>;
  BOOST_TEST(joined(std::vector<Numbers>{{1.0, kNan}, {1.0, kNan}}).size() == 2U);
  for (const Numbers& other : {Numbers{2.0, kNan}, Numbers{1.0, 3.0}, Numbers{1.0}}) {
    expect_throw<std::invalid_argument>(
        [&] {
          static_cast<void>(joined(std::vector<Numbers>{{1.0, kNan}, other}));
        },
        "[Pipeline] output 0 is not the same in all micro-batches");
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
