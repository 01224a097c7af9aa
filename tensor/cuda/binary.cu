#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/elementwise_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {

void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) { binary_with(Launcher(out.device()), op, out, a, b); }

void binary(BinaryOp op, Tensor& out, const Tensor& a, double b) {
  binary_with_number(Launcher(out.device()), op, out, a, b, NumberSide::right);
}

void binary(BinaryOp op, Tensor& out, double a, const Tensor& b) {
  binary_with_number(Launcher(out.device()), op, out, b, a, NumberSide::left);
}

}  // namespace troupe::cuda
