#include "tensor/ops/norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/rvalue.h"

namespace troupe {
namespace {

void require_floating(std::string_view op, const Tensor& x) {
  x.require_defined(op);
  if (!is_floating(x.dtype())) detail::throw_not_floating(op, x.dtype());
}

void require_dims(std::string_view op, const Tensor& x, int least) {
  if (x.dim() < least)
    throw ShapeError(fmt::format("[{}] fewer than {} dimensions: {}", op, least, to_string(x.shape())));
}

/// Returns `given` flat in the compute dtype of `x`, checked to have `shape`; filled with `otherwise` if undefined.
Tensor operand(std::string_view op, std::string_view what, const Tensor& given, const Shape& shape,
               std::string_view what_for, const Tensor& x, double otherwise) {
  const DType dtype = compute_dtype(x.dtype());
  if (!given.defined()) return full({shape.numel()}, otherwise, dtype, x.device());
  detail::require_together(op, x, given);
  require_floating(op, given);
  if (given.shape() != shape) {
    throw ShapeError(fmt::format("[{}] {} does not fit: {} for {}", op, what, to_string(given.shape()), what_for));
  }
  return given.to(dtype).contiguous().view({shape.numel()});
}

/// Checked weight and bias.
struct Affine {
  Tensor weight;
  Tensor bias;
};

/// Returns x (n, c, ...) as (n, c, inner), in its compute dtype.
Tensor as_channels(const Tensor& x) {
  const Shape around = joined_around(x.shape(), 1);
  return x.to(compute_dtype(x.dtype())).contiguous().view(around);
}

std::string channels_text(const Tensor& x) { return fmt::format("{} channels", x.size(1)); }

Affine channel_affine(std::string_view op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::string text = channels_text(x);
  return {operand(op, "weight", weight, {x.size(1)}, text, x, 1.0),
          operand(op, "bias", bias, {x.size(1)}, text, x, 0.0)};
}

/// Converts gradients, whose sums are f64, to their result dtypes.
NormGradients finished(Tensor by_x, const Tensor& by_weight, const Tensor& by_bias, const Tensor& x) {
  const DType dtype = compute_dtype(x.dtype());
  return {by_x.view(x.shape()).to(x.dtype()), by_weight.to(dtype), by_bias.to(dtype)};
}

void require_gradient_of(std::string_view op, const Tensor& grad, const Tensor& x, const NormResult& forward) {
  require_floating(op, x);
  detail::require_together(op, grad, x);
  detail::require_same_shape(op, grad, x);
  detail::require_same_dtype(op, grad, x);
  for (const Tensor& moment : {forward.mean, forward.var}) detail::require_together(op, x, moment);
}

/// Normalises x as (outer, groups, channels, inner), given by `sizes`; `affine` has groups * channels elements each.
NormResult normalised(const Tensor& x, const Shape& sizes, const Affine& affine, double eps) {
  const DType dtype = compute_dtype(x.dtype());
  Tensor out = Tensor::empty(sizes, dtype, x.device());
  Tensor mean = zeros({sizes[0], sizes[1]}, DType::f64, x.device());
  Tensor var = zeros({sizes[0], sizes[1]}, DType::f64, x.device());
  if (x.numel() > 0)
    kernels_of(out).group_norm(out, mean, var, x.to(dtype).contiguous().view(sizes), affine.weight, affine.bias, eps);
  return {out.view(x.shape()).to(x.dtype()), mean, var};
}

NormGradients normalised_backward(const Tensor& grad, const Tensor& x, const NormResult& forward, const Shape& sizes,
                                  const Tensor& weight, double eps) {
  const DType dtype = compute_dtype(x.dtype());
  Tensor by_x = Tensor::empty(sizes, dtype, x.device());
  Tensor by_weight = zeros({sizes[1] * sizes[2]}, DType::f64, x.device());
  Tensor by_bias = zeros({sizes[1] * sizes[2]}, DType::f64, x.device());
  if (x.numel() > 0) {
    kernels_of(grad).group_norm_backward(by_x, by_weight, by_bias, grad.to(dtype).contiguous().view(sizes),
                                         x.to(dtype).contiguous().view(sizes), forward.mean.contiguous(),
                                         forward.var.contiguous(), weight, eps);
  }
  return finished(by_x, by_weight, by_bias, x);
}

/// Returns (rows, 1, elements normalised together, 1).
Shape layer_sizes(std::string_view op, const Tensor& x, const Shape& normalized_shape) {
  require_floating(op, x);
  if (normalized_shape.empty()) throw ShapeError(fmt::format("[{}] no dimensions to normalise", op));
  const int kept = x.dim() - normalized_shape.size();
  Shape last;
  for (int i = std::max(kept, 0); i < x.dim(); ++i) last.push_back(x.shape()[i]);
  if (last != normalized_shape) {
    throw ShapeError(
        fmt::format("[{}] last dimensions are not {}: {}", op, to_string(normalized_shape), to_string(x.shape())));
  }
  std::int64_t rows = 1;
  for (int i = 0; i < kept; ++i) rows *= x.shape()[i];
  return {rows, 1, normalized_shape.numel(), 1};
}

/// Returns (n, groups, channels per group, inner).
Shape group_sizes(std::string_view op, const Tensor& x, std::int64_t groups) {
  require_floating(op, x);
  require_dims(op, x, 2);
  const std::int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0)
    throw ShapeError(fmt::format("[{}] {} channels in {} groups", op, channels, groups));
  return {x.size(0), groups, channels / groups, joined_around(x.shape(), 1)[2]};
}

RunningStatistics running_after(const RunningStatistics& before, const NormResult& batch, std::int64_t count,
                                const BatchNormOptions& options) {
  if (!before.mean.defined() || count == 0) return before;
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  const auto moved = [&](const Tensor& old, const Tensor& now, double factor) {
    return add(mul(old.to(DType::f64), 1.0 - options.momentum), mul(now, options.momentum * factor)).to(old.dtype());
  };
  return {moved(before.mean, batch.mean, 1.0), moved(before.var, batch.var, unbiased)};
}

void require_running(std::string_view op, const RunningStatistics& running, const Tensor& x,
                     NormStatistics statistics) {
  if (running.mean.defined() != running.var.defined() ||
      (statistics == NormStatistics::running && !running.mean.defined())) {
    throw ValueError(fmt::format("[{}] there are no running statistics", op));
  }
  for (const auto& [what, given] : {std::pair("running mean", running.mean), std::pair("running var", running.var)}) {
    static_cast<void>(operand(op, what, given, {x.size(1)}, channels_text(x), x, 0.0));
  }
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x, const RunningStatistics& running, const Tensor& weight, const Tensor& bias,
                           const BatchNormOptions& options) {
  constexpr std::string_view kName = "batch_norm";
  require_floating(kName, x);
  require_dims(kName, x, 2);
  require_running(kName, running, x, options.statistics);
  const Affine affine = channel_affine(kName, x, weight, bias);
  const std::int64_t channels = x.size(1);
  const std::int64_t count = channels == 0 ? 0 : x.numel() / channels;
  const bool of_batch = options.statistics == NormStatistics::batch;
  if (of_batch && count == 1) {
    throw ValueError(fmt::format("[{}] one element per channel has no variance: {}", kName, to_string(x.shape())));
  }
  const auto statistic = [&](const Tensor& given) {
    return of_batch ? zeros({channels}, DType::f64, x.device()) : given.to(DType::f64).clone();
  };
  NormResult norm{Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device()), statistic(running.mean),
                  statistic(running.var)};
  if (x.numel() > 0) {
    const Tensor in = as_channels(x);
    Tensor out = norm.output.view(in.shape());
    kernels_of(out).batch_norm(of_batch ? kernels::Moments::computed : kernels::Moments::given, out, norm.mean,
                               norm.var, in, affine.weight, affine.bias, options.eps);
  }
  norm.output = norm.output.to(x.dtype());
  return {norm, of_batch ? running_after(running, norm, count, options) : running};
}

NormGradients batch_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward, const Tensor& weight,
                                  const BatchNormOptions& options) {
  constexpr std::string_view kName = "batch_norm_backward";
  require_gradient_of(kName, grad, x, forward);
  require_dims(kName, x, 2);
  const Affine affine = channel_affine(kName, x, weight, {});
  const Tensor in = as_channels(x);
  Tensor by_x = Tensor::empty(in.shape(), in.dtype(), x.device());
  Tensor by_weight = zeros({x.size(1)}, DType::f64, x.device());
  Tensor by_bias = zeros({x.size(1)}, DType::f64, x.device());
  const auto moments =
      options.statistics == NormStatistics::batch ? kernels::Moments::computed : kernels::Moments::given;
  if (x.numel() > 0) {
    kernels_of(in).batch_norm_backward(moments, by_x, by_weight, by_bias, as_channels(grad), in,
                                       forward.mean.contiguous(), forward.var.contiguous(), affine.weight, options.eps);
  }
  return finished(by_x, by_weight, by_bias, x);
}

NormResult layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                      double eps) {
  constexpr std::string_view kName = "layer_norm";
  const Shape sizes = layer_sizes(kName, x, normalized_shape);
  const std::string text = to_string(normalized_shape);
  const Affine affine{operand(kName, "weight", weight, normalized_shape, text, x, 1.0),
                      operand(kName, "bias", bias, normalized_shape, text, x, 0.0)};
  return normalised(x, sizes, affine, eps);
}

NormGradients layer_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward,
                                  const Shape& normalized_shape, const Tensor& weight, double eps) {
  constexpr std::string_view kName = "layer_norm_backward";
  require_gradient_of(kName, grad, x, forward);
  const Shape sizes = layer_sizes(kName, x, normalized_shape);
  const Tensor factor = operand(kName, "weight", weight, normalized_shape, to_string(normalized_shape), x, 1.0);
  NormGradients gradients = normalised_backward(grad, x, forward, sizes, factor, eps);
  gradients.weight = gradients.weight.view(normalized_shape);
  gradients.bias = gradients.bias.view(normalized_shape);
  return gradients;
}

NormResult group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  const Shape sizes = group_sizes("group_norm", x, groups);
  return normalised(x, sizes, channel_affine("group_norm", x, weight, bias), eps);
}

NormGradients group_norm_backward(const Tensor& grad, const Tensor& x, const NormResult& forward, std::int64_t groups,
                                  const Tensor& weight, double eps) {
  constexpr std::string_view kName = "group_norm_backward";
  require_gradient_of(kName, grad, x, forward);
  const Shape sizes = group_sizes(kName, x, groups);
  return normalised_backward(grad, x, forward, sizes, channel_affine(kName, x, weight, {}).weight, eps);
}

NormResult instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  constexpr std::string_view kName = "instance_norm";
  require_floating(kName, x);
  require_dims(kName, x, 3);
  return normalised(x, group_sizes(kName, x, std::max<std::int64_t>(x.size(1), 1)),
                    channel_affine(kName, x, weight, bias), eps);
}

}  // namespace troupe
