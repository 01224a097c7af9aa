#include "tensor/kernels/random.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"

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

// Blocks that are computed together, one in each lane of a vector.
constexpr std::int64_t kBlocks = 64;

using Words = std::array<std::uint32_t, 4 * kBlocks>;

/// Returns the words of blocks first ... first + kBlocks - 1 of `draws`.
Words draw_words(const Draws& draws, std::int64_t first) {
  Words words;
  vectorized_for(
      kBlocks, [ to = words.data(), draws, first ](std::int64_t i) __attribute__((always_inline)) {
        const RandomBlock block = draws.block(first + i);
        for (std::size_t w = 0; w < block.size(); ++w) to[4 * i + static_cast<std::int64_t>(w)] = block[w];
      });
  return words;
}

void draw_dropout_mask(Tensor& out, double probability, const Draws& draws) {
  constexpr std::int64_t kElements = 4 * kBlocks;
  dispatch_floating("dropout_mask", out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const DropoutFormula<T> formula(probability);
    const std::int64_t count = out.numel();
    parallel_for((count + kElements - 1) / kElements, kBlocks * kBlockCost, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const Words words = draw_words(draws, i * kBlocks);
        vectorized_for(
            std::min(kElements, count - i * kElements),
            [ to = to + i * kElements, words = words.data(), formula ](std::int64_t k)
                __attribute__((always_inline)) { to[k] = formula.of(words[k]); });
      }
    });
  });
}

}  // namespace

const kernels::RandomKernels random_kernels{
    .draw_reals = draw_reals, .draw_integers = draw_integers, .draw_dropout_mask = draw_dropout_mask};

}  // namespace troupe::cpu
