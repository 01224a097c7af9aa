// Where there is no compiler for GPUs: every kernel refuses, as those that exist for the CPU alone do.
#include "tensor/cuda/elementwise.h"

namespace troupe::cuda {
namespace {

void refuse(const Tensor& out) { static_cast<void>(out.bytes()); }

}  // namespace

void unary(cpu::UnaryOp /*op*/, Tensor& out, const Tensor& /*x*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, const Tensor& /*a*/, double /*b*/) { refuse(out); }
void binary(cpu::BinaryOp /*op*/, Tensor& out, double /*a*/, const Tensor& /*b*/) { refuse(out); }
void compare(cpu::CompareOp /*op*/, Tensor& out, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void select(Tensor& out, const Tensor& /*condition*/, const Tensor& /*a*/, const Tensor& /*b*/) { refuse(out); }
void axpby(Tensor& out, double /*alpha*/, const Tensor& /*a*/, double /*beta*/, const Tensor& /*b*/) { refuse(out); }
void convert(Tensor& out, const Tensor& /*x*/) { refuse(out); }
void fill(Tensor& out, double /*value*/) { refuse(out); }

}  // namespace troupe::cuda
