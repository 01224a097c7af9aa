// The kernels that operations call: those of the device where the result is. For the sources of this folder.
//
// What each does and requires is said in tensor/cpu/, and is the same on a GPU, where all operands are with the result.
// Kernels that are not here exist for the CPU alone, and refuse other tensors (Tensor::bytes).
#pragma once

#include "tensor/cpu/convert.h"
#include "tensor/cpu/elementwise.h"
#include "tensor/cuda/elementwise.h"

namespace troupe::kernels {

[[nodiscard]] inline bool on_gpu(const Tensor& x) { return x.device().kind == DeviceKind::cuda; }

inline void unary(cpu::UnaryOp op, Tensor& out, const Tensor& x) {
  on_gpu(out) ? cuda::unary(op, out, x) : cpu::unary(op, out, x);
}

/// `A` and `B`: a tensor or, one of them, a number.
template <class A, class B>
void binary(cpu::BinaryOp op, Tensor& out, const A& a, const B& b) {
  on_gpu(out) ? cuda::binary(op, out, a, b) : cpu::binary(op, out, a, b);
}

inline void compare(cpu::CompareOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  on_gpu(out) ? cuda::compare(op, out, a, b) : cpu::compare(op, out, a, b);
}

inline void select(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  on_gpu(out) ? cuda::select(out, condition, a, b) : cpu::select(out, condition, a, b);
}

inline void axpby(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  on_gpu(out) ? cuda::axpby(out, alpha, a, beta, b) : cpu::axpby(out, alpha, a, beta, b);
}

inline void convert(Tensor& out, const Tensor& x) { on_gpu(out) ? cuda::convert(out, x) : cpu::convert(out, x); }

inline void fill(Tensor& out, double value) { on_gpu(out) ? cuda::fill(out, value) : cpu::fill(out, value); }

}  // namespace troupe::kernels
