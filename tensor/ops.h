// Operations on tensors. None changes its arguments except those called `..._into`; results have fresh memory unless
// the comment says "view" or an operand is given up (ops/rvalue.h). Elementwise operations broadcast (shape.h) and promote (dtype.h).
//
// f16 and bf16 are computed in f32 and the result is rounded once; so are sums, products and whatever else has many
// terms. Integers wrap around.
//
// As in PyTorch, a tensor without dimensions gives way to one that has some: f32 (3) + f64 () is f32, unless it is of a higher
// kind of booleans, integers and floats: i32 (3) + f64 () is f64. So does a `double` operand, which is an integer if it is whole:
// beside an integer tensor 2.0 is of its dtype, 2.5 makes f32; a whole number outside of its range is a DTypeError
// `[add] not a value of u8: 300`. In arithmetic with f16 and bf16 a number is an f32.
//
// Of two boolean tensors add and maximum are their or, mul and minimum their and; other arithmetic on them is a DTypeError
// `[sub] not defined for boolean`. A whole number beside a boolean tensor makes i64. Functions of reals
// (div, exp, mean, ...) turn integers into f32. Operations on an undefined tensor throw `[op] tensor is undefined`,
// on different devices DeviceError. Results never depend on the layout of the arguments.
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
