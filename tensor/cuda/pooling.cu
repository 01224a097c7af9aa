#include "tensor/cuda/pooling.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/pooling_kernels.h"

namespace troupe::cuda {

void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  max_pool_with(Launcher(y.device()), y, where_max, x, rows, columns);
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  max_pool_backward_with(Launcher(dx.device()), dx, dy, where_max);
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  max_pool_backward_with(Launcher(dx.device()), dx, dy, where_max, rows, columns);
}

void avg_pool(Tensor& y, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  avg_pool_with(Launcher(y.device()), y, x, rows, columns);
}

void avg_pool_backward(Tensor& dx, const Tensor& dy, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  avg_pool_backward_with(Launcher(dx.device()), dx, dy, rows, columns);
}

}  // namespace troupe::cuda
