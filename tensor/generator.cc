#include "tensor/generator.h"

#include <cmath>
#include <numbers>

namespace troupe {
namespace {

constexpr double kTwoToMinus53 = 0x1p-53;

std::uint64_t join(std::uint32_t low, std::uint32_t high) { return (std::uint64_t{high} << 32U) | low; }

std::uint32_t low_half(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_half(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32U); }

double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11U) * kTwoToMinus53; }

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_half(b) ^ counter[1] ^ key[0], low_half(b), high_half(a) ^ counter[3] ^ key[1], low_half(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<std::uint32_t, 4> Generator::next_block() noexcept {
  const std::uint64_t n = counter_++;
  return philox4x32({low_half(n), high_half(n), low_half(stream_), high_half(stream_)},
                    {low_half(seed_), high_half(seed_)});
}

std::uint64_t Generator::next_u64() noexcept {
  const auto block = next_block();
  return join(block[0], block[1]);
}

double Generator::uniform() noexcept { return to_unit(next_u64()); }

double Generator::normal() noexcept {
  const auto block = next_block();
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(join(block[0], block[1]))));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(join(block[2], block[3])));
}

std::uint64_t Generator::below(std::uint64_t bound) noexcept {
  // Lemire, "Fast random integer generation in an interval", 2019: reject the draws that would favour some results.
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t bits = next_u64();
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(bits) * bound;
    if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64U);
  }
}

}  // namespace troupe
