// Activations that are one function above 0 and another below. All tensors are contiguous and of one dtype, f32 or f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe::cpu {

/// Below 0: factor * x, factor * (exp(x) - 1).
enum class PiecewiseOp : std::uint8_t { leaky_relu, elu };

void piecewise(PiecewiseOp op, Tensor& out, const Tensor& x, double factor);
/// out = g times the slope at x.
void piecewise_backward(PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor);

/// out = g where low < x < high or x is not a number, else 0.
void between(Tensor& out, const Tensor& g, const Tensor& x, double low, double high);

}  // namespace troupe::cpu
