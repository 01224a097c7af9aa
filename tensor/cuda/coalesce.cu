#include "tensor/kernels/coalesce.h"

#include "tensor/cuda/coalesce_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

kernels::SummedRows sum_by_number(const Tensor& numbers, const Tensor& x, std::int64_t limit) {
  return sum_by_number_with(Launcher(x.device()), numbers, x, limit);
}

bool ascends(const Tensor& numbers) { return ascends_with(Launcher(numbers.device()), numbers); }

}  // namespace

const kernels::CoalesceKernels coalesce_kernels{.sum_by_number = sum_by_number, .ascends = ascends};

}  // namespace troupe::cuda
