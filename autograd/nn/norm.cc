#include "autograd/nn/norm.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/checkpoint.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::nn {
namespace {

/// Returns whether both have the same elements. REQUIRES: their shapes are equal.
bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.storage().same_as(b.storage()) && a.offset() == b.offset() && a.strides() == b.strides();
}

}  // namespace

BatchNorm::BatchNorm(const char* name, std::int64_t channels, const BatchNormLayerOptions& options)
    : options_(options) {
  if (channels < 1) throw ValueError(fmt::format("[{}] channels below 1: {}", name, channels));
  if (options.affine == Affine::yes) {
    weight_ = add_parameter("weight", ones({channels}, options.dtype));
    bias_ = add_parameter("bias", zeros({channels}, options.dtype));
  }
  if (options.track == TrackStatistics::yes) {
    running_mean_ = add_buffer("running_mean", zeros({channels}, options.dtype));
    running_var_ = add_buffer("running_var", ones({channels}, options.dtype));
    batches_ = add_buffer("num_batches_tracked", zeros({}, DType::i64));
  }
}

Variable BatchNorm::normalized(const Variable& x) {
  const bool tracks = options_.track == TrackStatistics::yes;
  const bool by_batch = !tracks || mode() == Mode::train;
  const RunningStatistics running =
      tracks ? RunningStatistics{running_mean_.value(), running_var_.value()} : RunningStatistics{};
  const BatchNormVariable result = batch_norm(x, running, weight_, bias_,
                                              {.statistics = by_batch ? NormStatistics::batch : NormStatistics::running,
                                               .momentum = collects_ ? 1.0 : options_.momentum,
                                               .eps = options_.eps});
  if (!tracks || !by_batch || recomputing()) return result.output;
  if (collects_) collect(result.running, x.numel() / x.size(1));
  else take_in(running, result.running);
  return result.output;
}

/// The statistics of two sets together. Source: Chan et al., "Updating formulae and a pairwise algorithm for computing
/// sample variances", 1979.
void BatchNorm::collect(const RunningStatistics& batch, std::int64_t count) {
  const Tensor mean = batch.mean.to(DType::f64);
  const auto rows = static_cast<double>(count);
  const Tensor squares = count > 1 ? batch.var.to(DType::f64) * (rows - 1.0) : zeros_like(mean);
  const std::scoped_lock lock(mutex_);
  if (collected_.count == 0) {
    collected_ = {count, mean, squares};
    return;
  }
  const auto before = static_cast<double>(collected_.count);
  const Tensor apart = mean - collected_.mean;
  collected_.mean = collected_.mean + apart * (rows / (before + rows));
  collected_.squares = collected_.squares + squares + apart * apart * (before * rows / (before + rows));
  collected_.count += count;
}

void BatchNorm::take_in_collected() {
  const std::scoped_lock lock(mutex_);
  const Moments all = std::exchange(collected_, {});
  if (all.count == 0) return;
  const auto replace = [&](const Variable& running, const Tensor& batch) {
    const Tensor now = running.value();
    running.set_value(now * (1.0 - options_.momentum) + batch.to(now.dtype()) * options_.momentum);
  };
  replace(running_mean_, all.mean);
  if (all.count > 1) replace(running_var_, all.squares / static_cast<double>(all.count - 1));
  batches_.set_value(batches_.value() + 1.0);
}

void BatchNorm::drop_collected() {
  const std::scoped_lock lock(mutex_);
  collected_ = {};
}

void BatchNorm::take_in(const RunningStatistics& seen, const RunningStatistics& with_batch) {
  const std::scoped_lock lock(mutex_);
  const auto replace = [&](const Variable& running, const Tensor& before, const Tensor& after) {
    const Tensor now = running.value();
    // If another forward or a load replaced the value since, this batch is mixed into the new value.
    const bool alone = is_same_view(now, before);
    running.set_value(alone ? after : after + (now - before) * (1.0 - options_.momentum));
  };
  replace(running_mean_, seen.mean, with_batch.mean);
  replace(running_var_, seen.var, with_batch.var);
  batches_.set_value(batches_.value() + 1.0);
}

Variable BatchNorm1d::forward(const Variable& x) {
  const Shape shape = x.shape();
  if (shape.size() != 2 && shape.size() != 3) {
    throw ShapeError(fmt::format("[BatchNorm1d] not (n, channels) or (n, channels, l): {}", to_string(shape)));
  }
  return normalized(x);
}

Variable BatchNorm2d::forward(const Variable& x) {
  const Shape shape = x.shape();
  if (shape.size() != 4) {
    throw ShapeError(fmt::format("[BatchNorm2d] not (n, channels, h, w): {}", to_string(shape)));
  }
  return normalized(x);
}

LayerNorm::LayerNorm(const Shape& normalized_shape, const NormLayerOptions& options)
    : normalized_shape_(normalized_shape), eps_(options.eps) {
  if (options.affine == Affine::no) return;
  weight_ = add_parameter("weight", ones(normalized_shape, options.dtype));
  bias_ = add_parameter("bias", zeros(normalized_shape, options.dtype));
}

Variable LayerNorm::forward(const Variable& x) { return layer_norm(x, normalized_shape_, weight_, bias_, eps_); }

InstanceNorm::InstanceNorm(std::string_view name, std::int64_t channels, const NormLayerOptions& options)
    : name_(name), channels_(channels), eps_(options.eps) {
  if (channels < 1) throw ValueError(fmt::format("[{}] channels below 1: {}", name, channels));
  if (options.affine == Affine::no) return;
  weight_ = add_parameter("weight", ones({channels}, options.dtype));
  bias_ = add_parameter("bias", zeros({channels}, options.dtype));
}

Variable InstanceNorm::normalized(const Variable& x, int dims) const {
  const Shape shape = x.shape();
  if (shape.size() != dims || shape[1] != channels_) {
    throw ShapeError(
        fmt::format("[{}] not of {} dimensions, with {} channels: {}", name_, dims, channels_, to_string(shape)));
  }
  return instance_norm(x, weight_, bias_, eps_);
}

Variable InstanceNorm1d::forward(const Variable& x) { return normalized(x, 3); }
Variable InstanceNorm2d::forward(const Variable& x) { return normalized(x, 4); }

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, const NormLayerOptions& options)
    : groups_(groups), channels_(channels), eps_(options.eps) {
  if (groups < 1 || channels < 1 || channels % groups != 0) {
    throw ValueError(fmt::format("[GroupNorm] {} channels in {} groups", channels, groups));
  }
  if (options.affine == Affine::no) return;
  weight_ = add_parameter("weight", ones({channels}, options.dtype));
  bias_ = add_parameter("bias", zeros({channels}, options.dtype));
}

Variable GroupNorm::forward(const Variable& x) {
  const Shape shape = x.shape();
  if (shape.size() < 2 || shape[1] != channels_) {
    throw ShapeError(fmt::format("[GroupNorm] not (n, {}, ...): {}", channels_, to_string(shape)));
  }
  return group_norm(x, groups_, weight_, bias_, eps_);
}

}  // namespace troupe::nn
