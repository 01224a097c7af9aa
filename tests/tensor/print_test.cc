#include "tensor/print.h"

#include <limits>
#include <sstream>

#include "tensor/create.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(print)

BOOST_AUTO_TEST_CASE(columns_are_aligned_at_the_point) {
  BOOST_CHECK_EQUAL(to_string(from_values<float>({1, 2.5, -10, 0.125}, {2, 2})),
                    "[[  1.      2.5  ]\n [-10.      0.125]]");
  BOOST_CHECK_EQUAL(to_string(from_values<std::int64_t>({1, -20})), "[  1 -20]");
  BOOST_CHECK_EQUAL(to_string(from_values<bool>({true, false})), "[ true false]");
  BOOST_CHECK_EQUAL(to_string(from_values<std::uint8_t>({65})), "[65]");
}

BOOST_AUTO_TEST_CASE(scalars_empty_and_undefined_tensors_print) {
  BOOST_CHECK_EQUAL(to_string(scalar(2.5F)), "2.5");
  BOOST_CHECK_EQUAL(to_string(scalar(std::numeric_limits<float>::infinity())), "inf");
  BOOST_CHECK_EQUAL(to_string(scalar(1e-20)), "1e-20");
  BOOST_CHECK_EQUAL(to_string(zeros({0})), "[]");
  BOOST_CHECK_EQUAL(to_string(zeros({1 << 20, 0})), "[]");
  BOOST_CHECK_EQUAL(to_string(Tensor()), "undefined");
}

BOOST_AUTO_TEST_CASE(views_print_their_own_elements) {
  std::ostringstream out;
  out << arange(4).reshape({2, 2}).transpose();
  BOOST_CHECK_EQUAL(out.str(), "[[0 2]\n [1 3]]");
}

BOOST_AUTO_TEST_CASE(matrices_of_a_batch_are_set_apart) {
  BOOST_CHECK_EQUAL(to_string(arange(4).reshape({2, 1, 2})), "[[[0 1]]\n\n [[2 3]]]");
}

BOOST_AUTO_TEST_CASE(large_tensors_show_their_edges) {
  BOOST_CHECK_EQUAL(to_string(arange(1001)), "[   0    1    2 ...  998  999 1000]");
  BOOST_CHECK_EQUAL(to_string(arange(1002).reshape({2, 501})),
                    "[[   0    1    2 ...  498  499  500]\n [ 501  502  503 ...  999 1000 1001]]");
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_show_as_many_digits_as_they_have) {
  BOOST_CHECK_EQUAL(to_string(from_values<Half>({Half(0.1), Half(-2), Half(65504)})),
                    "[    0.099976    -2.       65504.      ]");
  BOOST_CHECK_EQUAL(to_string(from_values<BFloat16>({BFloat16(0.1), BFloat16(256)})), "[  0.1001 256.    ]");
  BOOST_CHECK_EQUAL(to_string(from_values<std::int8_t>({65, -128})), "[  65 -128]");
  BOOST_CHECK_EQUAL(to_string(scalar<std::int16_t>(-300)), "-300");
}

BOOST_AUTO_TEST_SUITE_END()
