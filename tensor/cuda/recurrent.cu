#include "tensor/kernels/recurrent.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/recurrent_kernels.h"
#include "tensor/kernels/matmul.h"

namespace troupe::cuda {
namespace {

constexpr auto kMultiply = [](Tensor& out, const Tensor& x, const Tensor& y) { matmul_kernels.matmul(out, x, y); };

void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias) {
  recurrent_with(Launcher(tape.output.device()), kMultiply, tape, bias, candidate_bias);
}

void recurrent_backward(const RnnTape& tape, kernels::RecurrentGradients& gradients) {
  recurrent_backward_with(Launcher(tape.output.device()), kMultiply, tape, gradients);
}

}  // namespace

const kernels::RecurrentKernels recurrent_kernels{.recurrent = recurrent, .recurrent_backward = recurrent_backward};

}  // namespace troupe::cuda
