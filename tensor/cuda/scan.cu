#include "tensor/kernels/scan.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/scan_kernels.h"

namespace troupe::cuda {
namespace {

void cumsum(Tensor& out, const Tensor& x, Direction direction) {
  cumsum_with(Launcher(out.device()), out, x, direction);
}

void cumprod(Tensor& out, const Tensor& x) { cumprod_with(Launcher(out.device()), out, x); }

void cumulative_argument(kernels::Extreme extreme, Tensor& out, const Tensor& x) {
  cumulative_argument_with(Launcher(out.device()), extreme, out, x);
}

}  // namespace

const kernels::ScanKernels scan_kernels{
    .cumsum = cumsum, .cumprod = cumprod, .cumulative_argument = cumulative_argument};

}  // namespace troupe::cuda
