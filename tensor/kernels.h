// The kernels that operations call: those of the device where the result is. For the sources of this folder.
//
// What each does and requires is said in tensor/cpu/, and is the same on a GPU, where all operands are with the result.
// Kernels that are not here exist for the CPU alone, and refuse other tensors (Tensor::bytes).
#pragma once

#include "tensor/cpu/convert.h"
#include "tensor/cpu/convolution.h"
#include "tensor/cpu/elementwise.h"
#include "tensor/cpu/embedding_bag.h"
#include "tensor/cpu/gather.h"
#include "tensor/cpu/global_norm.h"
#include "tensor/cpu/indexing.h"
#include "tensor/cpu/matmul.h"
#include "tensor/cpu/normalization.h"
#include "tensor/cpu/order.h"
#include "tensor/cpu/pooling.h"
#include "tensor/cpu/recurrent.h"
#include "tensor/cpu/piecewise.h"
#include "tensor/cpu/random.h"
#include "tensor/cpu/reduce.h"
#include "tensor/cpu/scan.h"
#include "tensor/cpu/search.h"
#include "tensor/cpu/softmax.h"
#include "tensor/cpu/update.h"
#include "tensor/cuda/batch_norm.h"
#include "tensor/cuda/convolution.h"
#include "tensor/cuda/elementwise.h"
#include "tensor/cuda/embedding_bag.h"
#include "tensor/cuda/gather.h"
#include "tensor/cuda/global_norm.h"
#include "tensor/cuda/group_norm.h"
#include "tensor/cuda/matmul.h"
#include "tensor/cuda/order.h"
#include "tensor/cuda/pooling.h"
#include "tensor/cuda/recurrent.h"
#include "tensor/cuda/piecewise.h"
#include "tensor/cuda/random.h"
#include "tensor/cuda/reduce.h"
#include "tensor/cuda/scan.h"
#include "tensor/cuda/search.h"
#include "tensor/cuda/softmax.h"
#include "tensor/cuda/update.h"

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

inline void reduce(cpu::ReduceOp op, Tensor& out, const Tensor& x, const cpu::AxisSet& axes) {
  on_gpu(out) ? cuda::reduce(op, out, x, axes) : cpu::reduce(op, out, x, axes);
}

inline void argument_last(cpu::Extreme extreme, Tensor& out, const Tensor& x) {
  on_gpu(out) ? cuda::argument_last(extreme, out, x) : cpu::argument_last(extreme, out, x);
}

inline void softmax(cpu::SoftmaxKind kind, Tensor& out, const Tensor& x) {
  on_gpu(out) ? cuda::softmax(kind, out, x) : cpu::softmax(kind, out, x);
}

inline void softmax_backward(cpu::SoftmaxKind kind, Tensor& out, const Tensor& grad, const Tensor& y) {
  on_gpu(out) ? cuda::softmax_backward(kind, out, grad, y) : cpu::softmax_backward(kind, out, grad, y);
}

inline void group_norm(Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  on_gpu(out) ? cuda::group_norm(out, mean, var, x, weight, bias, eps) : cpu::group_norm(out, mean, var, x, weight, bias, eps);
}

inline void group_norm_backward(Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x, const Tensor& mean,
                                const Tensor& var, const Tensor& weight, double eps) {
  on_gpu(x) ? cuda::group_norm_backward(grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps)
            : cpu::group_norm_backward(grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps);
}

inline void bag_mean_scales(Tensor& scales, const cpu::Bags& bags) {
  on_gpu(scales) ? cuda::bag_mean_scales(scales, bags) : cpu::bag_mean_scales(scales, bags);
}

inline void bag_sum(Tensor& out, const Tensor& weight, const cpu::Bags& bags) {
  on_gpu(out) ? cuda::bag_sum(out, weight, bags) : cpu::bag_sum(out, weight, bags);
}

inline void bag_max(Tensor& out, Tensor& where, const Tensor& weight, const cpu::Bags& bags) {
  on_gpu(out) ? cuda::bag_max(out, where, weight, bags) : cpu::bag_max(out, where, weight, bags);
}

inline void bag_add(Tensor& out, const Tensor& grad, const cpu::Bags& bags) {
  on_gpu(out) ? cuda::bag_add(out, grad, bags) : cpu::bag_add(out, grad, bags);
}

inline void bag_values(Tensor& values, const Tensor& grad, const cpu::Bags& bags) {
  on_gpu(values) ? cuda::bag_values(values, grad, bags) : cpu::bag_values(values, grad, bags);
}

inline void bag_max_add(Tensor& out, const Tensor& grad, const Tensor& where, const cpu::Bags& bags) {
  on_gpu(out) ? cuda::bag_max_add(out, grad, where, bags) : cpu::bag_max_add(out, grad, where, bags);
}

inline void bag_max_values(Tensor& values, const Tensor& grad, const Tensor& where) {
  on_gpu(values) ? cuda::bag_max_values(values, grad, where) : cpu::bag_max_values(values, grad, where);
}

inline void bag_scales_backward(Tensor& out, const Tensor& grad, const Tensor& weight, const cpu::Bags& bags) {
  on_gpu(out) ? cuda::bag_scales_backward(out, grad, weight, bags) : cpu::bag_scales_backward(out, grad, weight, bags);
}

inline void piecewise(cpu::PiecewiseOp op, Tensor& out, const Tensor& x, double factor) {
  on_gpu(out) ? cuda::piecewise(op, out, x, factor) : cpu::piecewise(op, out, x, factor);
}

inline void piecewise_backward(cpu::PiecewiseOp op, Tensor& out, const Tensor& g, const Tensor& x, double factor) {
  on_gpu(out) ? cuda::piecewise_backward(op, out, g, x, factor) : cpu::piecewise_backward(op, out, g, x, factor);
}

inline void between(Tensor& out, const Tensor& g, const Tensor& x, double low, double high) {
  on_gpu(out) ? cuda::between(out, g, x, low, high) : cpu::between(out, g, x, low, high);
}

[[nodiscard]] inline double sum_of_powers(std::span<const Tensor> xs, double p) {
  return !xs.empty() && on_gpu(xs.front()) ? cuda::sum_of_powers(xs, p) : cpu::sum_of_powers(xs, p);
}

[[nodiscard]] inline double largest_magnitude(std::span<const Tensor> xs) {
  return !xs.empty() && on_gpu(xs.front()) ? cuda::largest_magnitude(xs) : cpu::largest_magnitude(xs);
}

inline void draw_reals(Tensor& out, const cpu::RealDistribution& distribution, const cpu::Draws& draws) {
  on_gpu(out) ? cuda::draw_reals(out, distribution, draws) : cpu::draw_reals(out, distribution, draws);
}

[[nodiscard]] inline bool draw_integers(Tensor& out, std::int64_t low, std::uint64_t range, const cpu::Draws& draws) {
  return on_gpu(out) ? cuda::draw_integers(out, low, range, draws) : cpu::draw_integers(out, low, range, draws);
}

inline void draw_dropout_mask(Tensor& out, double probability, const cpu::Draws& draws) {
  on_gpu(out) ? cuda::draw_dropout_mask(out, probability, draws) : cpu::draw_dropout_mask(out, probability, draws);
}

inline void gather(Tensor& out, const Tensor& x, int dim, const Tensor& index) {
  on_gpu(out) ? cuda::gather(out, x, dim, index) : cpu::gather(out, x, dim, index);
}

inline void scatter_add(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  on_gpu(out) ? cuda::scatter_add(out, dim, index, x) : cpu::scatter_add(out, dim, index, x);
}

inline void scatter(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  on_gpu(out) ? cuda::scatter(out, dim, index, x) : cpu::scatter(out, dim, index, x);
}

inline void take(Tensor& out, const Tensor& x, const Tensor& index) {
  on_gpu(out) ? cuda::take(out, x, index) : cpu::take(out, x, index);
}

inline void put_add(Tensor& out, const Tensor& x, const Tensor& index) {
  on_gpu(out) ? cuda::put_add(out, x, index) : cpu::put_add(out, x, index);
}

inline void pick(Tensor& out, const Tensor& x, const Tensor& index) {
  on_gpu(out) ? cuda::pick(out, x, index) : cpu::pick(out, x, index);
}

inline void place(Tensor& out, const Tensor& x, const Tensor& index) {
  on_gpu(out) ? cuda::place(out, x, index) : cpu::place(out, x, index);
}

inline void order_last(Tensor& out, const Tensor& x, Order order) {
  on_gpu(out) ? cuda::order_last(out, x, order) : cpu::order_last(out, x, order);
}

inline void cumsum(Tensor& out, const Tensor& x, cpu::Direction direction) {
  on_gpu(out) ? cuda::cumsum(out, x, direction) : cpu::cumsum(out, x, direction);
}

inline void cumprod(Tensor& out, const Tensor& x) { on_gpu(out) ? cuda::cumprod(out, x) : cpu::cumprod(out, x); }

inline void cumulative_argument(cpu::Extreme extreme, Tensor& out, const Tensor& x) {
  on_gpu(out) ? cuda::cumulative_argument(extreme, out, x) : cpu::cumulative_argument(extreme, out, x);
}

inline void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side) {
  on_gpu(out) ? cuda::search(out, sorted, values, side) : cpu::search(out, sorted, values, side);
}

inline void matmul(Tensor& out, const Tensor& x, const Tensor& y) {
  on_gpu(out) ? cuda::matmul(out, x, y) : cpu::matmul(out, x, y);
}

/// The dtype that operands of a product must have whose sums run in `dtype`: GPUs multiply 16-bit floats as they are.
[[nodiscard]] inline DType factor_dtype(const Tensor& a, const Tensor& b, DType dtype) {
  const bool both_short = a.dtype() == b.dtype() && is_floating(a.dtype()) && compute_dtype(a.dtype()) != a.dtype();
  return on_gpu(a) && both_short ? a.dtype() : dtype;
}

inline void batch_norm(cpu::Moments moments, Tensor& out, Tensor& mean, Tensor& var, const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  on_gpu(out) ? cuda::batch_norm(moments, out, mean, var, x, weight, bias, eps) : cpu::batch_norm(moments, out, mean, var, x, weight, bias, eps);
}

inline void batch_norm_backward(cpu::Moments moments, Tensor& grad_x, Tensor& grad_weight, Tensor& grad_bias, const Tensor& grad, const Tensor& x,
                                const Tensor& mean, const Tensor& var, const Tensor& weight, double eps) {
  on_gpu(x) ? cuda::batch_norm_backward(moments, grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps)
            : cpu::batch_norm_backward(moments, grad_x, grad_weight, grad_bias, grad, x, mean, var, weight, eps);
}

inline void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  on_gpu(y) ? cuda::convolve(y, x, weight, bias, options) : cpu::convolve(y, x, weight, bias, options);
}

inline void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  on_gpu(dx) ? cuda::convolve_backward_input(dx, dy, weight, options) : cpu::convolve_backward_input(dx, dy, weight, options);
}

inline void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  on_gpu(dw) ? cuda::convolve_backward_weight(dw, dy, x, options) : cpu::convolve_backward_weight(dw, dy, x, options);
}

inline void convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight, const Conv2dOptions& options) {
  if (!on_gpu(dx)) return cpu::convolve_backward(dx, dw, dy, x, weight, options);
  cuda::convolve_backward_input(dx, dy, weight, options);
  cuda::convolve_backward_weight(dw, dy, x, options);
}

/// The dtype in which tensors like `x` are convolved and pooled: GPUs take 16-bit floats as they are.
[[nodiscard]] inline DType window_dtype(const Tensor& x) { return on_gpu(x) ? x.dtype() : compute_dtype(x.dtype()); }

/// `x` as those kernels take it: contiguous, and converted as a whole if they do not compute in its dtype.
[[nodiscard]] inline Tensor windowed(const Tensor& x) { return x.to(window_dtype(x)).contiguous(); }

inline void max_pool(Tensor& y, Tensor& where_max, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  on_gpu(y) ? cuda::max_pool(y, where_max, x, rows, columns) : cpu::max_pool(y, where_max, x, rows, columns);
}

inline void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  on_gpu(dx) ? cuda::max_pool_backward(dx, dy, where_max) : cpu::max_pool_backward(dx, dy, where_max);
}

inline void avg_pool(Tensor& y, const Tensor& x, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  on_gpu(y) ? cuda::avg_pool(y, x, rows, columns) : cpu::avg_pool(y, x, rows, columns);
}

inline void avg_pool_backward(Tensor& dx, const Tensor& dy, const cpu::PoolWindows& rows, const cpu::PoolWindows& columns) {
  on_gpu(dx) ? cuda::avg_pool_backward(dx, dy, rows, columns) : cpu::avg_pool_backward(dx, dy, rows, columns);
}

inline void recurrent(RnnTape& tape, const Tensor& bias, const Tensor& candidate_bias) {
  on_gpu(tape.output) ? cuda::recurrent(tape, bias, candidate_bias) : cpu::recurrent(tape, bias, candidate_bias);
}

inline void recurrent_backward(const RnnTape& tape, cpu::RecurrentGradients& gradients) {
  on_gpu(tape.output) ? cuda::recurrent_backward(tape, gradients) : cpu::recurrent_backward(tape, gradients);
}

inline void update(std::span<UpdateItem> items) {
  if (items.empty()) return;
  on_gpu(items.front().value) ? cuda::update(items) : cpu::update(items);
}

}  // namespace troupe::kernels
