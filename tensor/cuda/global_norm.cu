#include "tensor/kernels/global_norm.h"

#include "tensor/cuda/global_norm_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

double sum_of_powers(std::span<const Tensor> xs, double p) {
  return sum_of_powers_with(Launcher(xs.front().device()), xs, p);
}

double largest_magnitude(std::span<const Tensor> xs) {
  return largest_magnitude_with(Launcher(xs.front().device()), xs);
}

}  // namespace

const kernels::GlobalNormKernels global_norm_kernels{.sum_of_powers = sum_of_powers,
                                                     .largest_magnitude = largest_magnitude};

}  // namespace troupe::cuda
