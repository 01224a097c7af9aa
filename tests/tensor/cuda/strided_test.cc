#include "tensor/cuda/strided.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "tensor/kernels/walk.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_strided)

namespace {

using cuda::FastDivisor;
using cuda::for_each_small;
using cuda::Strided;

constexpr std::uint32_t kLast = (std::uint32_t{1} << 31U) - 1;

}  // namespace

BOOST_AUTO_TEST_CASE(a_fast_divisor_divides_all_numbers_that_it_is_for) {
  for (const std::uint32_t d : {1U, 2U, 3U, 5U, 6U, 7U, 10U, 64U, 641U, 1000U, 65535U, 65536U, 65537U, 1000003U,
                                1U << 30U, (1U << 30U) + 1, kLast - 1, kLast}) {
    const FastDivisor divisor(d);
    for (std::uint64_t multiple = 0; multiple <= kLast; multiple += std::uint64_t{d} * (1 + kLast / d / 1000)) {
      for (const std::uint64_t n : {multiple, multiple + d / 2, multiple + d - 1}) {
        if (n <= kLast && divisor.quotient(static_cast<std::uint32_t>(n)) != n / d) BOOST_FAIL(n << " / " << d);
      }
    }
    BOOST_TEST(divisor.quotient(kLast) == kLast / d);
  }
}

BOOST_AUTO_TEST_CASE(offsets_of_an_element_are_those_of_the_hand) {
  const Strides left{1, 2};  // (2, 3), transposed
  const Strides right{0, 5};
  const Strided<2> walk(kernels::make_walk<2>({2, 3}, {&left, &right}));
  BOOST_TEST(walk.numel == 6U);
  // Element 4 is (1, 1): 1*1 + 1*2 = 3 and 1*0 + 1*5 = 5.
  BOOST_TEST(walk.offsets(4)[0] == 3U);
  BOOST_TEST(walk.offsets(4)[1] == 5U);
  // Element 2 is (0, 2).
  BOOST_TEST(walk.offsets(2)[0] == 4U);
  BOOST_TEST(walk.offsets(2)[1] == 10U);
}

BOOST_AUTO_TEST_CASE(offsets_are_right_in_up_to_16_dimensions) {
  Shape shape;
  Strides odd;
  for (int i = 0; i < kDimsMax; ++i) {
    shape.push_back(i % 5 == 4 ? 3 : i % 3 == 2 ? 1 : 2);
    odd.push_back(i % 4 == 1 ? 0 : (i * 7919) % 1009);
  }
  const Strides plain = contiguous_strides(shape);
  const Strided<2> walk(kernels::make_walk<2>(shape, {&plain, &odd}));
  BOOST_TEST(walk.rank > 8);
  BOOST_TEST(walk.numel == shape.numel());
  for (std::uint32_t i = 0; i < walk.numel; ++i) {
    std::int64_t expected = 0;
    std::int64_t rest = i;
    for (int d = kDimsMax - 1; d >= 0; rest /= shape[d], --d) expected += rest % shape[d] * odd[d];
    if (walk.offsets(i)[0] != i || walk.offsets(i)[1] != expected) BOOST_FAIL("element " << i);
  }
}

BOOST_AUTO_TEST_CASE(what_is_too_large_is_cut_into_parts_that_make_up_all_of_it) {
  const Shape shape{7, 5, 3};
  const Strides out = contiguous_strides(shape);
  const Strides in{1, 7, 0};
  const auto all = kernels::make_walk<2>(shape, {&out, &in});
  std::vector<int> seen(105, 0);
  std::int64_t parts = 0;
  for_each_small(
      all,
      [&](const Strided<2>& part, const std::array<std::int64_t, 2>& starts) {
        ++parts;
        BOOST_TEST(part.numel < 16U);
        for (std::uint32_t i = 0; i < part.numel; ++i) {
          const auto at = part.offsets(i);
          BOOST_TEST((at[0] < 16U && at[1] < 16U));
          const std::int64_t k = starts[0] + at[0];
          ++seen[static_cast<std::size_t>(k)];
          BOOST_TEST(starts[1] + at[1] == k / 15 + k / 3 % 5 * 7);
        }
      },
      16);
  BOOST_TEST(parts >= 105 / 15);
  BOOST_TEST(std::ranges::count(seen, 1) == 105);
}

BOOST_AUTO_TEST_CASE(sizes_beyond_32_bits_are_cut_and_smaller_ones_are_not) {
  const auto parts_of = [](const Shape& shape, const Strides& strides) {
    std::vector<std::int64_t> counts;
    for_each_small(kernels::make_walk<1>(shape, {&strides}),
                   [&](const Strided<1>& part, const auto&) { counts.push_back(part.numel); });
    return counts;
  };
  const std::int64_t limit = std::int64_t{1} << 31;
  const auto per_element = boost::test_tools::per_element();
  BOOST_TEST(parts_of({limit - 1}, {1}) == std::vector<std::int64_t>({limit - 1}), per_element);
  BOOST_TEST(parts_of({limit}, {1}) == std::vector<std::int64_t>({limit / 2, limit / 2}), per_element);
  BOOST_TEST(parts_of({limit}, {0}) == std::vector<std::int64_t>({limit / 2, limit / 2}),
             per_element);  // one element, repeated
  BOOST_TEST(parts_of({2}, {limit}) == std::vector<std::int64_t>({1, 1}), per_element);
  BOOST_TEST(parts_of({3, 2}, {1, 3}) == std::vector<std::int64_t>({6}), per_element);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
