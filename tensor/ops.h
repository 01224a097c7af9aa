// Operations on tensors. No operation changes its arguments except those called `..._into`. Results own fresh memory
// unless the comment says "view" or the caller gives up an operand (ops/rvalue.h). Elementwise operations broadcast
// (shape.h) and promote (dtype.h). Results never depend on the layout of the arguments.
//
// Operations on f16 and bf16, also sums and products, compute in f32 and round the result once. Integers wrap around.
//
// Scalars, as in PyTorch. The kinds of dtypes, ascending: boolean, integer, floating.
// - A 0-dimensional tensor beside one that has dimensions does not widen it: f32 (3) + f64 () is f32. A higher kind
//   decides: i32 (3) + f64 () is f64.
// - A whole `double` operand counts as an integer: beside an integer tensor 2.0 takes its dtype and 2.5 makes the
//   result f32; beside a boolean tensor a whole number makes it i64. A whole number out of range throws DTypeError
//   `[add] not a value of u8: 300`.
// - In arithmetic with f16 and bf16 a `double` operand is an f32.
//
// On two boolean tensors add and maximum are logical or, mul and minimum logical and. Other arithmetic on them throws
// DTypeError `[sub] not defined for boolean`. Functions of reals (div, exp, mean, ...) convert integers to f32.
// An undefined operand throws `[op] tensor is undefined`; operands on different devices throw DeviceError.
#pragma once

#include "tensor/ops/activation.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/arrange.h"
#include "tensor/ops/bits.h"
#include "tensor/ops/distance.h"
#include "tensor/ops/division.h"
#include "tensor/ops/einsum.h"
#include "tensor/ops/embedding.h"
#include "tensor/ops/exponential.h"
#include "tensor/ops/histogram.h"
#include "tensor/ops/index.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/pointwise.h"
#include "tensor/ops/products.h"
#include "tensor/ops/quantile.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/scan.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/sort.h"
#include "tensor/ops/trigonometry.h"
