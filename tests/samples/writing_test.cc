#include "samples/language_model/writing.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/create.h"

BOOST_AUTO_TEST_SUITE(writing)

BOOST_AUTO_TEST_CASE(words_are_drawn_as_often_as_their_scores_say_and_the_excluded_one_never) {
  // Probabilities 1/8, 1/8, 2/8, 4/8; without the first one 1/7, 2/7, 4/7.
  const float two = std::log(2.0F);
  const troupe::Tensor scores = troupe::from_values<float>({0, 0, two, 2 * two});
  troupe::Generator random(1);
  constexpr int kDraws = 7'000;
  std::array<int, 4> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<std::size_t>(samples::draw(scores, 0, random)));
  BOOST_TEST(counts[0] == 0);
  // Expected 1000, 2000, 4000; four standard deviations are 117, 151 and 166.
  BOOST_TEST(std::abs(counts[1] - 1'000) < 120);
  BOOST_TEST(std::abs(counts[2] - 2'000) < 155);
  BOOST_TEST(std::abs(counts[3] - 4'000) < 170);
}

BOOST_AUTO_TEST_CASE(marks_stand_where_writers_put_them) {
  const std::vector<std::string> words{"a", "copy", "(", "or", "two", ")", ",", "free", "."};
  BOOST_TEST(samples::written(words) == "a copy (or two), free.");
  BOOST_TEST(samples::written({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
