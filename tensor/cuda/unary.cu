#include "tensor/cuda/elementwise_kernels.h"
#include "tensor/cuda/launcher.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {
namespace {

void unary(UnaryOp op, Tensor& out, const Tensor& x) { unary_with(Launcher(out.device()), op, out, x); }

}  // namespace

const kernels::UnaryKernels unary_kernels{.unary = unary};

}  // namespace troupe::cuda
