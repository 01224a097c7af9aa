#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/elementwise_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {

void unary(UnaryOp op, Tensor& out, const Tensor& x) { unary_with(Launcher(out.device()), op, out, x); }

}  // namespace troupe::cuda
