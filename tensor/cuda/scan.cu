#include "tensor/cuda/scan.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/scan_kernels.h"

namespace troupe::cuda {

void cumsum(Tensor& out, const Tensor& x, Direction direction) { cumsum_with(Launcher(out.device()), out, x, direction); }

void cumprod(Tensor& out, const Tensor& x) { cumprod_with(Launcher(out.device()), out, x); }

void cumulative_argument(cpu::Extreme extreme, Tensor& out, const Tensor& x) {
  cumulative_argument_with(Launcher(out.device()), extreme, out, x);
}

}  // namespace troupe::cuda
