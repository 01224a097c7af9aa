#include "tensor/kernels/random.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/random_kernels.h"

namespace troupe::cuda {
namespace {

void draw_reals(Tensor& out, const RealDistribution& distribution, const Draws& draws) {
  draw_reals_with(Launcher(out.device()), out, distribution, draws);
}

bool draw_integers(Tensor& out, std::int64_t low, std::uint64_t range, const Draws& draws) {
  return draw_integers_with(Launcher(out.device()), out, low, range, draws);
}

void draw_dropout_mask(Tensor& out, double probability, const Draws& draws) {
  draw_dropout_mask_with(Launcher(out.device()), out, probability, draws);
}

}  // namespace

const kernels::RandomKernels random_kernels{
    .draw_reals = draw_reals, .draw_integers = draw_integers, .draw_dropout_mask = draw_dropout_mask};

}  // namespace troupe::cuda
