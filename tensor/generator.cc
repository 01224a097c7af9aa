#include "tensor/generator.h"

#include "tensor/kernels/random_formulas.h"

namespace troupe {

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) noexcept {
  return kernels::philox_block(counter, key[0], key[1]);
}

std::array<std::uint32_t, 4> Generator::next_block() noexcept {
  return kernels::Draws{seed_, stream_, skip(1)}.block(0);
}

std::uint64_t Generator::next_u64() noexcept { return kernels::low_bits(next_block()); }

std::uint64_t Generator::skip(std::uint64_t blocks) noexcept {
  const std::uint64_t first = counter_;
  counter_ += blocks;
  return first;
}

double Generator::uniform() noexcept { return kernels::unit_of(next_u64()); }

double Generator::normal() noexcept { return kernels::normal_of(next_block()); }

std::uint64_t Generator::below(std::uint64_t bound) noexcept {
  // Lemire, "Fast random integer generation in an interval", 2019: reject the draws that would favour some results.
  const kernels::BelowFormula formula(bound);
  for (;;) {
    const kernels::BelowFormula::Draw draw = formula(next_block());
    if (!draw.is_rejected) return draw.value;
  }
}

}  // namespace troupe
