// Random numbers from a generator's bits, the same on the CPU and on GPUs: only sums, products, quotients and roots,
// each rounded as IEEE 754 says, in a fixed order. No mathematics library, and no product fused with a sum.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

using RandomBlock = std::array<std::uint32_t, 4>;

/// One block of Philox4x32-10, see generator.h.
TROUPE_HOST_DEVICE inline RandomBlock philox_block(RandomBlock counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32U) ^ counter[1] ^ key0, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32U) ^ counter[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

/// Blocks of a generator by number: block(i) is number first + i.
struct Draws {
  std::uint64_t seed;
  std::uint64_t stream;
  std::uint64_t first;

  [[nodiscard]] TROUPE_HOST_DEVICE RandomBlock block(std::int64_t i) const {
    const std::uint64_t n = first + static_cast<std::uint64_t>(i);
    return philox_block({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32U),
                         static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32U)},
                        static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U));
  }
};

TROUPE_HOST_DEVICE inline std::uint64_t low_bits(const RandomBlock& block) {
  return (std::uint64_t{block[1]} << 32U) | block[0];
}
TROUPE_HOST_DEVICE inline std::uint64_t high_bits(const RandomBlock& block) {
  return (std::uint64_t{block[3]} << 32U) | block[2];
}

/// Returns a multiple of 2^-53 in [0, 1).
TROUPE_HOST_DEVICE inline double unit_of(std::uint64_t bits) { return static_cast<double>(bits >> 11U) * 0x1p-53; }

/// Returns log(v) for v in [2^-53, 1]. Error: at most 4 units in the last place.
TROUPE_HOST_DEVICE inline double log_of_share(double v) {
  // v = 2^exponent * m, where m is between sqrt(1/2) and sqrt(2).
  const auto bits = std::bit_cast<std::uint64_t>(v);
  int exponent = static_cast<int>(bits >> 52U) - 1023;
  double m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFFU) | 0x3FF0'0000'0000'0000U);
  if (m > 1.4142135623730951) {
    m = m * 0.5;
    exponent += 1;
  }
  // log(m) = 2 artanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| < 0.172
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 1.0 / 21.0;
  sum = sum * z + 1.0 / 19.0;
  sum = sum * z + 1.0 / 17.0;
  sum = sum * z + 1.0 / 15.0;
  sum = sum * z + 1.0 / 13.0;
  sum = sum * z + 1.0 / 11.0;
  sum = sum * z + 1.0 / 9.0;
  sum = sum * z + 1.0 / 7.0;
  sum = sum * z + 1.0 / 5.0;
  sum = sum * z + 1.0 / 3.0;
  const double log_m = 2.0 * s + 2.0 * s * (z * sum);
  // log(2) in two parts; the product of the first and any exponent here is exact.
  const auto scale = static_cast<double>(exponent);
  return scale * 0x1.62e42feep-1 + (log_m + scale * 0x1.a39ef35793c76p-33);
}

/// Returns cos(2 pi u) for u in [0, 1), a multiple of 2^-53. Error: at most 2^-52.
TROUPE_HOST_DEVICE inline double cos_of_turns(double u) {
  const double quarters = u * 4.0;
  const auto nearest = static_cast<int>(quarters + 0.5);  // NOLINT(bugprone-incorrect-roundings): it is not negative
  const double x = (quarters - static_cast<double>(nearest)) * 1.5707963267948966;  // from -pi/4 to pi/4
  const double z = x * x;
  double cosine = 1.0 / 20922789888000.0;  // 16!
  cosine = cosine * z - 1.0 / 87178291200.0;
  cosine = cosine * z + 1.0 / 479001600.0;
  cosine = cosine * z - 1.0 / 3628800.0;
  cosine = cosine * z + 1.0 / 40320.0;
  cosine = cosine * z - 1.0 / 720.0;
  cosine = cosine * z + 1.0 / 24.0;
  cosine = cosine * z - 0.5;
  cosine = cosine * z + 1.0;
  double sine = 1.0 / 355687428096000.0;  // 17!
  sine = sine * z - 1.0 / 1307674368000.0;
  sine = sine * z + 1.0 / 6227020800.0;
  sine = sine * z - 1.0 / 39916800.0;
  sine = sine * z + 1.0 / 362880.0;
  sine = sine * z - 1.0 / 5040.0;
  sine = sine * z + 1.0 / 120.0;
  sine = sine * z - 1.0 / 6.0;
  sine = x + x * (z * sine);
  const double magnitude = (nearest & 1) == 0 ? cosine : sine;
  return nearest == 1 || nearest == 2 ? -magnitude : magnitude;
}

/// Returns a normal number. Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
TROUPE_HOST_DEVICE inline double normal_of(const RandomBlock& block) {
  const double radius = std::sqrt(-2.0 * log_of_share(1.0 - unit_of(low_bits(block))));
  return radius * cos_of_turns(unit_of(high_bits(block)));
}

// The formulas of one element from its block. T: float or double.

template <class T>
struct UnitFormula {
  // Rounding a double to f32 could give 1, so f32 uses the upper 24 bits.
  TROUPE_HOST_DEVICE T operator()(const RandomBlock& block) const {
    if constexpr (sizeof(T) == sizeof(float)) return static_cast<float>(low_bits(block) >> 40U) * 0x1p-24F;
    else return unit_of(low_bits(block));
  }
};

template <class T>
struct UniformFormula {
  double low;
  double high;
  T below_high;

  UniformFormula(double low_in, double high_in)
      : low(low_in), high(high_in), below_high(std::nextafter(static_cast<T>(high_in), static_cast<T>(low_in))) {}
  TROUPE_HOST_DEVICE T operator()(const RandomBlock& block) const {
    const auto value = static_cast<T>(low + (high - low) * unit_of(low_bits(block)));
    return value > below_high ? below_high : value;
  }
};

template <class T>
struct NormalFormula {
  TROUPE_HOST_DEVICE T operator()(const RandomBlock& block) const { return static_cast<T>(normal_of(block)); }
};

/// Reals in [0, 1), in [low, high), or normal with mean 0 and variance 1.
struct RealDistribution {
  enum class Kind : std::uint8_t { unit, uniform, normal };
  Kind kind;
  double low = 0.0;
  double high = 1.0;
};

/// Calls f(formula) with the formula that makes a T from a block.
template <class T, class F>
void with_formula(const RealDistribution& distribution, const F& f) {
  switch (distribution.kind) {
    case RealDistribution::Kind::unit: return f(UnitFormula<T>{});
    case RealDistribution::Kind::uniform: return f(UniformFormula<T>(distribution.low, distribution.high));
    case RealDistribution::Kind::normal: return f(NormalFormula<T>{});
  }
}

/// Elements of a dropout mask, one per word of a block: 0 below `limit`, else `kept`.
template <class T>
struct DropoutFormula {
  std::uint64_t limit;
  T kept;

  explicit DropoutFormula(double probability)
      : limit(static_cast<std::uint64_t>(std::llround(std::ldexp(probability, 32)))),
        kept(static_cast<T>(1.0 / (1.0 - probability))) {}
  [[nodiscard]] TROUPE_HOST_DEVICE T of(std::uint32_t word) const { return word < limit ? T{0} : kept; }
};

/// One draw of Generator::below(): the upper half of a 128-bit product; rejected if the lower half is below the
/// threshold.
struct BelowFormula {
  std::uint64_t bound;
  std::uint64_t threshold;

  explicit BelowFormula(std::uint64_t bound_in) : bound(bound_in), threshold((0 - bound_in) % bound_in) {}
  struct Draw {
    std::uint64_t value;
    bool is_rejected;
  };
  TROUPE_HOST_DEVICE Draw operator()(const RandomBlock& block) const {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(low_bits(block)) * bound;
    return {static_cast<std::uint64_t>(product >> 64U), static_cast<std::uint64_t>(product) < threshold};
  }
};

}  // namespace troupe::kernels
