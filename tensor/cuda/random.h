// Random numbers on GPUs: what tensor/cpu/random.h says holds here, with the same bits.
#pragma once

#include "tensor/cpu/random.h"

namespace troupe::cuda {

void draw_reals(Tensor& out, const cpu::RealDistribution& distribution, const cpu::Draws& draws);

/// Waits for the GPU.
[[nodiscard]] bool draw_integers(Tensor& out, std::int64_t low, std::uint64_t range, const cpu::Draws& draws);

void draw_dropout_mask(Tensor& out, double probability, const cpu::Draws& draws);

}  // namespace troupe::cuda
