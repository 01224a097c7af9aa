// Elementwise kernels of GPUs: what tensor/cpu/elementwise.h and convert.h say holds here, of tensors on one GPU.
//
// Sums, differences, products, quotients and roots have the bits of the CPU's. Functions of reals are those of CUDA's
// mathematics library, at most 2 units in the last place off (pow 4).
#pragma once

#include "tensor/cpu/elementwise.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

void unary(cpu::UnaryOp op, Tensor& out, const Tensor& x);
void binary(cpu::BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b);
void binary(cpu::BinaryOp op, Tensor& out, const Tensor& a, double b);
void binary(cpu::BinaryOp op, Tensor& out, double a, const Tensor& b);
void compare(cpu::CompareOp op, Tensor& out, const Tensor& a, const Tensor& b);
void select(Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b);
void axpby(Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b);

void convert(Tensor& out, const Tensor& x);

/// Of any layout that repeats no element.
void fill(Tensor& out, double value);

}  // namespace troupe::cuda
