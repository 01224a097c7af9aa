#include "tensor/cuda/elementwise_kernels.h"
#include "tensor/cuda/launcher.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {
namespace {

void binary(BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  binary_with(Launcher(out.device()), op, out, a, b);
}

void binary(BinaryOp op, Tensor& out, const Tensor& a, double b) {
  binary_with_number(Launcher(out.device()), op, out, a, b, NumberSide::right);
}

void binary(BinaryOp op, Tensor& out, double a, const Tensor& b) {
  binary_with_number(Launcher(out.device()), op, out, b, a, NumberSide::left);
}

}  // namespace

const kernels::BinaryKernels binary_kernels{
    .binary_tensors = binary, .binary_number_right = binary, .binary_number_left = binary};

}  // namespace troupe::cuda
