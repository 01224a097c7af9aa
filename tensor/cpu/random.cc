#include "tensor/kernels/random.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {

using kernels::BelowFormula;
using kernels::Draws;
using kernels::DropoutFormula;
using kernels::RandomBlock;
using kernels::RealDistribution;
using kernels::with_formula;

namespace {

constexpr std::int64_t kBlockCost = 16;  // cost of one block, in elements

void draw_reals(Tensor& out, const RealDistribution& distribution, const Draws& draws) {
  dispatch_floating("random", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    with_formula<T>(distribution, [&](const auto& formula) {
      parallel_for(out.numel(), kBlockCost, [to, draws, formula](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = formula(draws.block(i));
      });
    });
  });
}

bool draw_integers(Tensor& out, std::int64_t low, std::uint64_t range, const Draws& draws) {
  std::int64_t* const to = mutable_elements<std::int64_t>(out);
  const BelowFormula below(range);
  std::atomic<bool> is_rejected = false;
  parallel_for(out.numel(), kBlockCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const BelowFormula::Draw draw = below(draws.block(i));
      if (draw.is_rejected) is_rejected = true;
      to[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw.value);
    }
  });
  return !is_rejected;
}

void draw_dropout_mask(Tensor& out, double probability, const Draws& draws) {
  dispatch_floating("dropout_mask", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const DropoutFormula<T> formula(probability);
    const std::int64_t count = out.numel();
    parallel_for((count + 3) / 4, kBlockCost, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const RandomBlock block = draws.block(i);
        const std::int64_t last = std::min(4 * i + 4, count);
        for (std::int64_t k = 4 * i; k < last; ++k) to[k] = formula.of(block[static_cast<std::size_t>(k - 4 * i)]);
      }
    });
  });
}

}  // namespace

const kernels::RandomKernels random_kernels{
    .draw_reals = draw_reals, .draw_integers = draw_integers, .draw_dropout_mask = draw_dropout_mask};

}  // namespace troupe::cpu
