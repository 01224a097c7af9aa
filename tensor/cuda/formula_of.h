// Maps elementwise operations to their formulas.
#pragma once

#include <type_traits>

#include "tensor/cuda/activation_formulas.h"
#include "tensor/cuda/bit_formulas.h"
#include "tensor/cuda/division_formulas.h"
#include "tensor/cuda/exponential_formulas.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/trigonometry_formulas.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {

using kernels::BinaryOp;
using kernels::UnaryOp;

/// Calls f(formula) with the formula of `op` for T.
template <class T, class F>
void with_formula(UnaryOp op, const F& f) {
  switch (op) {
    case UnaryOp::neg: return f(Neg{});
    case UnaryOp::abs: return f(Abs{});
    case UnaryOp::sign: return f(Sign{});
    case UnaryOp::relu: return f(Relu{});
    case UnaryOp::floor: return f(Floor{});
    case UnaryOp::ceil: return f(Ceil{});
    case UnaryOp::round: return f(Round{});
    case UnaryOp::trunc: return f(Trunc{});
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case UnaryOp::exp: return f(Exp{});
      case UnaryOp::expm1: return f(Expm1{});
      case UnaryOp::exp2: return f(Exp2{});
      case UnaryOp::log: return f(Log{});
      case UnaryOp::log1p: return f(Log1p{});
      case UnaryOp::log2: return f(Log2{});
      case UnaryOp::log10: return f(Log10{});
      case UnaryOp::logit: return f(Logit{});
      case UnaryOp::sqrt: return f(Sqrt{});
      case UnaryOp::rsqrt: return f(Rsqrt{});
      case UnaryOp::sin: return f(Sin{});
      case UnaryOp::cos: return f(Cos{});
      case UnaryOp::tan: return f(Tan{});
      case UnaryOp::asin: return f(Asin{});
      case UnaryOp::acos: return f(Acos{});
      case UnaryOp::atan: return f(Atan{});
      case UnaryOp::sinh: return f(Sinh{});
      case UnaryOp::cosh: return f(Cosh{});
      case UnaryOp::tanh: return f(Tanh{});
      case UnaryOp::asinh: return f(Asinh{});
      case UnaryOp::acosh: return f(Acosh{});
      case UnaryOp::atanh: return f(Atanh{});
      case UnaryOp::erf: return f(Erf{});
      case UnaryOp::erfc: return f(Erfc{});
      case UnaryOp::sigmoid: return f(Sigmoid{});
      case UnaryOp::gelu: return f(Gelu{});
      case UnaryOp::gelu_tanh: return f(GeluTanh{});
      case UnaryOp::silu: return f(Silu{});
      case UnaryOp::mish: return f(Mish{});
      case UnaryOp::softplus: return f(Softplus{});
      default: return;
    }
  }
}

template <class T, class F>
void with_formula(BinaryOp op, const F& f) {
  switch (op) {
    case BinaryOp::add: return f(Add{});
    case BinaryOp::sub: return f(Sub{});
    case BinaryOp::mul: return f(Mul{});
    case BinaryOp::maximum: return f(Maximum{});
    case BinaryOp::minimum: return f(Minimum{});
    case BinaryOp::fmod: return f(Fmod{});
    case BinaryOp::remainder: return f(Remainder{});
    case BinaryOp::floor_divide: return f(FloorDivide{});
    default: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case BinaryOp::div: return f(Div{});
      case BinaryOp::copysign: return f(Copysign{});
      case BinaryOp::pow: return f(Pow{});
      case BinaryOp::atan2: return f(Atan2{});
      case BinaryOp::hypot: return f(Hypot{});
      case BinaryOp::logaddexp: return f(LogAddExp{});
      case BinaryOp::xlogy: return f(Xlogy{});
      case BinaryOp::relu_backward: return f(ReluBackward{});
      case BinaryOp::tanh_backward: return f(TanhBackward{});
      case BinaryOp::sigmoid_backward: return f(SigmoidBackward{});
      case BinaryOp::gelu_backward: return f(GeluBackward{});
      case BinaryOp::gelu_tanh_backward: return f(GeluTanhBackward{});
      case BinaryOp::silu_backward: return f(SiluBackward{});
      case BinaryOp::mish_backward: return f(MishBackward{});
      case BinaryOp::softplus_backward: return f(SoftplusBackward{});
      default: return;
    }
  } else {
    switch (op) {
      case BinaryOp::bit_and: return f(BitAnd{});
      case BinaryOp::bit_or: return f(BitOr{});
      case BinaryOp::bit_xor: return f(BitXor{});
      case BinaryOp::left_shift: return f(LeftShift{});
      case BinaryOp::right_shift: return f(RightShift{});
      default: return;
    }
  }
}

}  // namespace troupe::cuda
