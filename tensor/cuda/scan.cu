#include "tensor/cuda/scan.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/scan_kernels.h"

namespace troupe::cuda {

void cumsum(Tensor& out, const Tensor& x, Direction direction) { cumsum_with(Launcher(out.device()), out, x, direction); }

}  // namespace troupe::cuda
