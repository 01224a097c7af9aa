#include "tensor/kernels/pooling.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/pooling_kernels.h"

namespace troupe::cuda {
namespace {

void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const kernels::PoolWindows& rows,
              const kernels::PoolWindows& columns) {
  max_pool_with(Launcher(y.device()), y, where_max, x, rows, columns);
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  max_pool_backward_with(Launcher(dx.device()), dx, dy, where_max);
}

void max_pool_backward_of_windows(Tensor& dx, const Tensor& dy, const Tensor& where_max,
                                  const kernels::PoolWindows& rows, const kernels::PoolWindows& columns) {
  max_pool_backward_with(Launcher(dx.device()), dx, dy, where_max, rows, columns);
}

void avg_pool(Tensor& y, const Tensor& x, const kernels::PoolWindows& rows, const kernels::PoolWindows& columns) {
  avg_pool_with(Launcher(y.device()), y, x, rows, columns);
}

void avg_pool_backward(Tensor& dx, const Tensor& dy, const kernels::PoolWindows& rows,
                       const kernels::PoolWindows& columns) {
  avg_pool_backward_with(Launcher(dx.device()), dx, dy, rows, columns);
}

}  // namespace

const kernels::MaxPoolKernels max_pool_kernels{.max_pool = max_pool,
                                               .max_pool_backward = max_pool_backward,
                                               .max_pool_backward_of_windows = max_pool_backward_of_windows};
const kernels::AvgPoolKernels avg_pool_kernels{.avg_pool = avg_pool, .avg_pool_backward = avg_pool_backward};

}  // namespace troupe::cuda
