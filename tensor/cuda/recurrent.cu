#include "tensor/cuda/recurrent.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/matmul.h"
#include "tensor/cuda/recurrent_kernels.h"

namespace troupe::cuda {
namespace {

constexpr auto kMultiply = [](Tensor& out, const Tensor& x, const Tensor& y) { matmul(out, x, y); };

}  // namespace

void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias) {
  recurrent_with(Launcher(tape.output.device()), kMultiply, tape, bias, candidate_bias);
}

void recurrent_backward(const RnnTape& tape, cpu::RecurrentGradients& gradients) {
  recurrent_backward_with(Launcher(tape.output.device()), kMultiply, tape, gradients);
}

}  // namespace troupe::cuda
