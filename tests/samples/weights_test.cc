#include "samples/weights.h"

#include <boost/test/unit_test.hpp>

#include <vector>

#include "tensor/create.h"

BOOST_AUTO_TEST_SUITE(weights_of_samples)

using troupe::from_values;
using troupe::Tensor;

BOOST_AUTO_TEST_CASE(weights_are_apart_by_their_largest_difference_of_the_largest_weight) {
  const std::vector<Tensor> b{from_values<float>({1, -8}, {2}), from_values<float>({2, 3, 4}, {3})};
  BOOST_TEST(samples::difference(b, b) == 0.0);
  const std::vector<Tensor> a{from_values<float>({2, -8}, {2}), from_values<float>({2, 1, 4}, {3})};
  BOOST_TEST(samples::difference(a, b) == 0.25);  // |1 - 3| / |-8|
}

BOOST_AUTO_TEST_SUITE_END()
