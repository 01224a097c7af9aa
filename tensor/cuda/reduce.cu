#include "tensor/kernels/reduce.h"

#include "tensor/cuda/argument_kernels.h"
#include "tensor/cuda/launcher.h"
#include "tensor/cuda/reduce_kernels.h"

namespace troupe::cuda {
namespace {

void reduce(ReduceOp op, Tensor& out, const Tensor& x, const AxisSet& axes) {
  reduce_with(Launcher(out.device()), op, out, x, axes);
}

void argument_last(Extreme extreme, Tensor& out, const Tensor& x) {
  argument_last_with(Launcher(out.device()), extreme, out, x);
}

}  // namespace

const kernels::ReduceKernels reduce_kernels{.reduce = reduce, .argument_last = argument_last};

}  // namespace troupe::cuda
