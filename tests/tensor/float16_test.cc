#include "tensor/float16.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(float16)

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Returns the value of a 16-bit float by the formats' definition: sign, `exponent_bits`, the rest a fraction.
double meaning(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7FFF) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * kInf : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

// Returns the bit patterns that change in a conversion to float and back.
template <class T>
int wrong_round_trips(int exponent_bits) {
  int wrong = 0;
  for (int i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = T::from_bits(bits);
    const double expected = meaning(bits, exponent_bits);
    const bool is_nan = std::isnan(expected);
    const auto quiet = static_cast<std::uint16_t>(1U << static_cast<unsigned>(14 - exponent_bits));
    const auto kept = static_cast<std::uint16_t>(is_nan ? bits | quiet : bits);
    const bool right = is_nan ? std::isnan(value) : value == expected && std::signbit(value) == std::signbit(expected);
    if (!right || T(value).bits != kept || T(static_cast<double>(value)).bits != kept) ++wrong;
  }
  return wrong;
}

// Returns the pairs of neighbours between which a number is rounded to the wrong side. The upper neighbour of the
// largest number is the value that would follow it if there were no infinity.
template <class T>
int wrong_roundings(int exponent_bits) {
  const auto infinity = static_cast<std::uint16_t>(((1U << static_cast<unsigned>(exponent_bits)) - 1U)
                                                   << static_cast<unsigned>(15 - exponent_bits));
  int wrong = 0;
  for (std::uint16_t low = 0; low < infinity; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const double a = meaning(low, exponent_bits);
    const double b = high == infinity ? std::ldexp(1.0, 1 << (exponent_bits - 1)) : meaning(high, exponent_bits);
    const double middle = (a + b) / 2;
    const std::uint16_t even = low % 2 == 0 ? low : high;
    const auto is = [](auto value, std::uint16_t bits) {
      return T(value).bits == bits && T(-value).bits == (bits | 0x8000);
    };
    const auto as_float = static_cast<float>(middle);
    const bool right = static_cast<double>(as_float) == middle && is(as_float, even) &&
                       is(std::nextafter(as_float, 0.0F), low) &&
                       is(std::nextafter(as_float, std::numeric_limits<float>::infinity()), high) && is(middle, even) &&
                       is(std::nextafter(middle, 0.0), low) && is(std::nextafter(middle, kInf), high);
    if (!right) ++wrong;
  }
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_pattern_means_what_the_format_says_and_survives_float) {
  BOOST_TEST(wrong_round_trips<Half>(5) == 0);
  BOOST_TEST(wrong_round_trips<BFloat16>(8) == 0);
}

BOOST_AUTO_TEST_CASE(numbers_between_neighbours_go_to_the_nearer_and_ties_to_the_even) {
  BOOST_TEST(wrong_roundings<Half>(5) == 0);
  BOOST_TEST(wrong_roundings<BFloat16>(8) == 0);
}

// Each row: a float, and the results of torch.Tensor.half() and .bfloat16() in PyTorch 1.13.
BOOST_AUTO_TEST_CASE(floats_are_rounded_as_pytorch_does) {
  struct Row {
    std::uint32_t from;
    std::uint16_t half;
    std::uint16_t bfloat16;
  };
  // clang-format off
  constexpr std::array<Row, 40> kRows{{
    {0x00000000, 0x0000, 0x0000}, {0x80000000, 0x8000, 0x8000}, {0x3F800000, 0x3C00, 0x3F80},
    {0xBF800000, 0xBC00, 0xBF80}, {0x3DCCCCCD, 0x2E66, 0x3DCD}, {0x40490FDB, 0x4248, 0x4049},
    {0x42F6E979, 0x57B7, 0x42F7}, {0xC2F6E979, 0xD7B7, 0xC2F7}, {0x3F801000, 0x3C00, 0x3F80},
    {0x3F803000, 0x3C02, 0x3F80}, {0x3F800FFF, 0x3C00, 0x3F80}, {0x3F808000, 0x3C04, 0x3F80},
    {0x3F818000, 0x3C0C, 0x3F82}, {0x3F808001, 0x3C04, 0x3F81}, {0x33000000, 0x0000, 0x3300},
    {0x33000001, 0x0001, 0x3300}, {0x33800000, 0x0001, 0x3380}, {0x33C00000, 0x0002, 0x33C0},
    {0x387FC000, 0x03FF, 0x3880}, {0x387FE000, 0x0400, 0x3880}, {0x38800000, 0x0400, 0x3880},
    {0xB3400000, 0x8001, 0xB340}, {0x477FE000, 0x7BFF, 0x4780}, {0x477FEFFF, 0x7BFF, 0x4780},
    {0x477FF000, 0x7C00, 0x4780}, {0xC77FF000, 0xFC00, 0xC780}, {0x7F7FFFFF, 0x7C00, 0x7F80},
    {0x7F7F7FFF, 0x7C00, 0x7F7F}, {0x7F800000, 0x7C00, 0x7F80}, {0xFF800000, 0xFC00, 0xFF80},
    {0x00000001, 0x0000, 0x0000}, {0x00008000, 0x0000, 0x0000}, {0x00008001, 0x0000, 0x0001},
    {0x00018000, 0x0000, 0x0002}, {0x007FFFFF, 0x0000, 0x0080}, {0x00800000, 0x0000, 0x0080},
    {0x80400000, 0x8000, 0x8040}, {0x2EDBE6FF, 0x0000, 0x2EDC}, {0x501502F9, 0x7C00, 0x5015},
    {0x4B800001, 0x7C00, 0x4B80},
  }};
  // clang-format on
  for (const Row& row : kRows) {
    const auto value = std::bit_cast<float>(row.from);
    BOOST_TEST(Half(value).bits == row.half, "half of " << value);
    BOOST_TEST(BFloat16(value).bits == row.bfloat16, "bfloat16 of " << value);
  }
}

BOOST_AUTO_TEST_CASE(wide_numbers_are_rounded_once) {
  // Halfway between 1 and the next number, plus less than a float can represent: a float would turn it into a tie.
  BOOST_TEST(Half(1.0 + 0x1p-11).bits == 0x3C00);
  BOOST_TEST(Half(1.0 + 0x1p-11 + 0x1p-50).bits == 0x3C01);
  BOOST_TEST(BFloat16(-1.0 - 0x1p-8 - 0x1p-50).bits == 0xBF81);
  BOOST_TEST(BFloat16(1e300).bits == 0x7F80);
  BOOST_TEST(Half(-1e-300).bits == 0x8000);
  // The same for a double: 2^62 + 2^54 is halfway, and one more exceeds 53 bits.
  constexpr std::int64_t kTie = (std::int64_t{1} << 62U) + (std::int64_t{1} << 54U);
  BOOST_TEST(float{BFloat16(kTie)} == 0x1p62F);
  BOOST_TEST(float{BFloat16(kTie + 1)} == 0x1p62F + 0x1p55F);
  BOOST_TEST(float{BFloat16(-kTie - 1)} == -0x1p62F - 0x1p55F);
  BOOST_TEST(float{BFloat16(-kTie + 1)} == -0x1p62F);
  BOOST_TEST(float{BFloat16(std::numeric_limits<std::int64_t>::min())} == -0x1p63F);
  BOOST_TEST(float{BFloat16(std::numeric_limits<std::uint64_t>::max())} == 0x1p64F);
  BOOST_TEST(Half(65519).bits == 0x7BFF);
  BOOST_TEST(Half(65520).bits == 0x7C00);
  BOOST_TEST(float{Half(2049)} == 2048.0F);
  BOOST_TEST(float{Half(2051)} == 2052.0F);
  BOOST_TEST(float{Half(true)} == 1.0F);
}

BOOST_AUTO_TEST_CASE(numbers_compare_as_floats) {
  static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);
  static_assert(Half(0.5) == 0.5F && BFloat16() == 0.0F);
  BOOST_TEST(Half(-0.0F) == Half(0.0F));
  BOOST_TEST(BFloat16(1) < BFloat16(2));
  BOOST_TEST(!(Half(std::nan("")) == Half(std::nan(""))));
}

BOOST_AUTO_TEST_SUITE_END()
