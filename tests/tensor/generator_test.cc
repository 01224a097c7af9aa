#include "tensor/generator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/ops/nn.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(generator)

// The test vectors of the authors' package (Random123, kat_vectors).
BOOST_AUTO_TEST_CASE(philox_gives_the_published_vectors) {
  using Block = std::array<std::uint32_t, 4>;
  BOOST_CHECK((philox4x32({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  BOOST_CHECK((philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
               Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  BOOST_CHECK((philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
               Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_tensors_and_others_do_not) {
  Generator a(7);
  Generator b(7);
  Generator other_seed(8);
  Generator other_stream(7, 1);
  const Tensor x = randn({100}, a);
  expect_same(randn({100}, b), x);
  BOOST_CHECK(!same_bytes(randn({100}, other_seed), x));
  BOOST_CHECK(!same_bytes(randn({100}, other_stream), x));
}

BOOST_AUTO_TEST_CASE(a_copy_continues_from_the_same_place) {
  Generator a(7);
  (void)rand({5}, a);
  Generator b = a;
  BOOST_CHECK(a == b);
  expect_same(rand({5}, a), rand({5}, b));
  (void)a.next_u64();
  BOOST_CHECK(!(a == b));
}

BOOST_AUTO_TEST_CASE(blocks_that_are_skipped_are_not_drawn) {
  Generator a(7);
  Generator b(7);
  for (int i = 0; i < 5; ++i) (void)a.next_block();
  b.skip(5);
  BOOST_CHECK(a == b);
  BOOST_CHECK(a.next_block() == b.next_block());
}

BOOST_AUTO_TEST_CASE(uniform_numbers_fill_their_interval_evenly) {
  Generator g(1);
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = uniform({20000}, -1.0, 3.0, g, dtype);
    BOOST_CHECK(min(x).item() >= -1.0);
    BOOST_CHECK(max(x).item() < 3.0);
    // Mean 1, standard deviation of the mean 4 / sqrt(12 * 20000) = 0.008: the tolerance is five of them.
    BOOST_CHECK_SMALL(mean(x).item() - 1.0, 0.04);
  }
  BOOST_CHECK(max(rand({20000}, g)).item() < 1.0);
  expect_error<ValueError>("[uniform] low above high: 2 > 1", [&] { (void)uniform({1}, 2.0, 1.0, g); });
  expect_error<ValueError>("[uniform] range not finite in f64: from -1e+308 to 1e+308",
                           [&] { (void)uniform({1}, -1e308, 1e308, g, DType::f64); });
  expect_error<ValueError>("[uniform] range not finite in f32: from 0 to 1e+39",
                           [&] { (void)uniform({1}, 0.0, 1e39, g); });
  expect_error<ValueError>("[uniform] range not finite in f32: from nan to 1",
                           [&] { (void)uniform({1}, std::numeric_limits<double>::quiet_NaN(), 1.0, g); });
  BOOST_CHECK(uniform({0}, -std::numeric_limits<double>::infinity(), 0.0, g).numel() == 0);
  const Tensor wide = uniform({2}, -3e38, 3e38, g);
  BOOST_CHECK(wide.select(0, 0).item() != wide.select(0, 1).item());
  expect_error<DTypeError>("[rand] needs a floating dtype: i64", [&] { (void)rand({1}, g, DType::i64); });
}

BOOST_AUTO_TEST_CASE(normal_numbers_have_mean_0_and_variance_1) {
  Generator g(2);
  const Tensor x = randn({40000}, g, DType::f64);
  BOOST_CHECK_SMALL(mean(x).item(), 0.025);                // 5 / sqrt(40000)
  BOOST_CHECK_SMALL(mean(mul(x, x)).item() - 1.0, 0.036);  // 5 * sqrt(2 / 40000)
}

BOOST_AUTO_TEST_CASE(normal_numbers_follow_their_formula) {
  Generator g(12);
  for (int i = 0; i < 100'000; ++i) {
    Generator blocks = g;
    const auto block = blocks.next_block();
    const auto unit = [&](std::size_t low) {
      return static_cast<double>(((std::uint64_t{block[low + 1]} << 32U) | block[low]) >> 11U) * 0x1p-53;
    };
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(0)));
    const double expected = radius * std::cos(2.0 * std::numbers::pi * unit(2));
    // Here the angle has an error of up to 2^-51, and the logarithm half of 4 units.
    BOOST_REQUIRE_SMALL(g.normal() - expected, 0x1p-50 * radius);
  }
}

BOOST_AUTO_TEST_CASE(blocks_may_be_skipped) {
  Generator a(7);
  Generator b(7);
  for (int i = 0; i < 5; ++i) (void)a.next_block();
  BOOST_CHECK_EQUAL(b.skip(5), 0U);
  BOOST_CHECK(a == b);
  BOOST_CHECK_EQUAL(b.skip(1), 5U);
}

BOOST_AUTO_TEST_CASE(integers_of_a_tensor_are_draws_one_after_the_other_even_if_some_are_rejected) {
  constexpr std::int64_t kQuarter = std::int64_t{1} << 62U;
  // The first range rejects no draw, the second a quarter of them.
  for (const auto& [low, high] :
       {std::pair(std::int64_t{-5}, std::int64_t{9}), std::pair(-kQuarter, 2 * (kQuarter - 1))}) {
    Generator a(3);
    Generator b(3);
    const Tensor x = randint(low, high, {50}, a);
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    for (const std::int64_t at : x.data<std::int64_t>()) {
      BOOST_CHECK_EQUAL(at, static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + b.below(range)));
    }
    BOOST_CHECK(a == b);
  }
}

BOOST_AUTO_TEST_CASE(integers_below_a_bound_are_even_and_in_range) {
  Generator g(3);
  std::vector<int> counts(6);
  for (int i = 0; i < 6000; ++i) ++counts[g.below(6)];
  for (int count : counts) BOOST_CHECK(count > 850 && count < 1150);  // 1000 +- 5 standard deviations of 29
  const Tensor x = randint(-2, 2, {1000}, g);
  BOOST_CHECK_EQUAL(min(x).item<std::int64_t>(), -2);
  BOOST_CHECK_EQUAL(max(x).item<std::int64_t>(), 1);
  expect_error<ValueError>("[randint] empty range: [3, 3)", [&] { (void)randint(3, 3, {1}, g); });
}

BOOST_AUTO_TEST_CASE(a_permutation_holds_every_number_once) {
  Generator g(4);
  const Tensor x = permutation(100, g);
  const auto values = x.data<std::int64_t>();
  std::vector<std::int64_t> sorted(values.begin(), values.end());
  BOOST_CHECK(!std::ranges::is_sorted(sorted));
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) BOOST_CHECK_EQUAL(sorted[i], static_cast<std::int64_t>(i));
  BOOST_CHECK_EQUAL(permutation(0, g).numel(), 0);
}

BOOST_AUTO_TEST_CASE(a_dropout_mask_keeps_the_expected_sum) {
  Generator g(5);
  const Tensor mask = dropout_mask({20000}, 0.25, g);
  // Kept elements are 1 / 0.75; the mean is 1 with standard deviation sqrt(0.25 / 0.75 / 20000) = 0.004: the tolerance
  // is five.
  BOOST_CHECK_SMALL(mean(mask).item() - 1.0, 0.02);
  BOOST_CHECK_EQUAL(max(mask).item<float>(), 1.0F / 0.75F);
  BOOST_CHECK_EQUAL(min(mask).item<float>(), 0.0F);
  expect_same(dropout_mask({7}, 0.0, g), ones({7}));
  expect_error<ValueError>("[dropout_mask] probability outside [0, 1): 1", [&] { (void)dropout_mask({1}, 1.0, g); });
  expect_error<ValueError>("[dropout_mask] probability outside [0, 1): -0.5",
                           [&] { (void)dropout_mask({1}, -0.5, g); });
}

// Longer than the blocks that a kernel computes together, and not a multiple of four.
BOOST_AUTO_TEST_CASE(four_elements_of_a_dropout_mask_are_the_words_of_one_block) {
  Generator a(6, 2);
  (void)a.skip((1ULL << 32U) - 100);  // the number of a block is carried into its upper word
  Generator b = a;
  const Tensor mask = dropout_mask({1027}, 0.25, a);
  const auto elements = mask.data<float>();
  for (std::size_t i = 0; i < elements.size(); i += 4) {
    const auto block = b.next_block();
    for (std::size_t k = i; k < std::min(i + 4, elements.size()); ++k) {
      BOOST_CHECK_EQUAL(elements[k], block[k - i] < (1U << 30U) ? 0.0F : 1.0F / 0.75F);
    }
  }
  BOOST_CHECK(a == b);
}

BOOST_AUTO_TEST_CASE(numbers_of_16_bits_are_those_of_f32_rounded) {
  for (const DType dtype : kDTypesOf16BitFloats) {
    Generator a(11);
    Generator b(11);
    expect_same(rand({1000}, a, dtype), rand({1000}, b).to(dtype));
    expect_same(uniform({1000}, -2.0, 5.0, a, dtype), uniform({1000}, -2.0, 5.0, b).to(dtype));
    expect_same(randn({1000}, a, dtype), randn({1000}, b).to(dtype));
    BOOST_CHECK(a == b);
  }
  Generator g(1);
  expect_error<DTypeError>("[randn] needs a floating dtype: i8", [&] { (void)randn({1}, g, DType::i8); });
}

BOOST_AUTO_TEST_SUITE_END()
