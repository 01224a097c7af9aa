#include "tensor/generator.h"

#include "tensor/cpu/random_formulas.h"

namespace troupe {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  return cpu::philox_block(counter, key[0], key[1]);
}

std::array<std::uint32_t, 4> Generator::next_block() noexcept { return cpu::Draws{seed_, stream_, skip(1)}.block(0); }

std::uint64_t Generator::next_u64() noexcept { return cpu::low_bits(next_block()); }

std::uint64_t Generator::skip(std::uint64_t blocks) noexcept {
  const std::uint64_t first = counter_;
  counter_ += blocks;
  return first;
}

double Generator::uniform() noexcept { return cpu::unit_of(next_u64()); }

double Generator::normal() noexcept { return cpu::normal_of(next_block()); }

std::uint64_t Generator::below(std::uint64_t bound) noexcept {
  // Lemire, "Fast random integer generation in an interval", 2019: reject the draws that would favour some results.
  const cpu::BelowFormula formula(bound);
  for (;;) {
    const cpu::BelowFormula::Draw draw = formula(next_block());
    if (!draw.is_rejected) return draw.value;
  }
}

}  // namespace troupe
