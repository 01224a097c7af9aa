// The kernels of tensor/kernels/random.h for any launcher, see launcher.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/kernels/random.h"

namespace troupe::cuda {

using kernels::Draws;
using kernels::RealDistribution;

template <class T, class Formula>
struct DrawBody {
  Draws draws;
  Formula formula;
  T* out;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = formula(draws.block(i)); }
};

struct DrawIntegersBody {
  Draws draws;
  kernels::BelowFormula below;
  std::int64_t low;
  std::int64_t* out;
  std::int64_t* rejected;  ///< starts as 0; every rejected draw writes the same value

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const kernels::BelowFormula::Draw draw = below(draws.block(i));
    out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw.value);
    if (draw.is_rejected) *rejected = 1;
  }
};

struct ZeroNumber {
  std::int64_t* to;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = 0; }
};

template <class T>
struct DropoutBody {
  Draws draws;
  kernels::DropoutFormula<T> formula;
  T* out;
  std::int64_t count;

  /// i: number of a block.
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const kernels::RandomBlock block = draws.block(i);
    for (std::int64_t k = 0; k < 4 && 4 * i + k < count; ++k)
      out[4 * i + k] = formula.of(block[static_cast<std::size_t>(k)]);
  }
};

template <class Launcher>
void draw_reals_with(const Launcher& launcher, Tensor& out, const RealDistribution& distribution, const Draws& draws) {
  const Place to = written(out);
  dispatch_floating("random", out.dtype(), [&]<class T>(std::type_identity<T>) {
    kernels::with_formula<T>(distribution, [&]<class Formula>(const Formula& formula) {
      launcher.each(out.numel(), DrawBody<T, Formula>{draws, formula, address<T>(to)});
    });
  });
}

template <class Launcher>
bool draw_integers_with(const Launcher& launcher, Tensor& out, std::int64_t low, std::uint64_t range,
                        const Draws& draws) {
  const Place to = written(out);
  const kernels::BelowFormula below(range);
  Tensor rejected = Tensor::empty({1}, DType::i64, out.device());
  std::int64_t* const flag = address<std::int64_t>(written(rejected));
  launcher.each(1, ZeroNumber{flag});
  launcher.each(out.numel(), DrawIntegersBody{draws, below, low, address<std::int64_t>(to), flag});
  // With a threshold of 0 no draw is rejected, so the GPU is not asked.
  return below.threshold == 0 || rejected.to(Device::cpu()).template data<std::int64_t>()[0] == 0;
}

template <class Launcher>
void draw_dropout_mask_with(const Launcher& launcher, Tensor& out, double probability, const Draws& draws) {
  const Place to = written(out);
  dispatch_floating("dropout_mask", out.dtype(), [&]<class T>(std::type_identity<T>) {
    const kernels::DropoutFormula<T> formula(probability);
    launcher.each((out.numel() + 3) / 4, DropoutBody<T>{draws, formula, address<T>(to), out.numel()});
  });
}

}  // namespace troupe::cuda
