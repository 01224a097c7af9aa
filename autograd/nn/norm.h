// Normalisation layers. Parameters: weight (ones) and bias (zeros) unless Affine::no.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "autograd/nn/module.h"
#include "autograd/ops/norm.h"

namespace troupe::nn {

/// Whether a layer scales and shifts the normalised values.
enum class Affine : std::uint8_t { no, yes };

/// Whether a layer keeps running statistics for eval mode. Without them it normalises by the batch in both modes.
enum class TrackStatistics : std::uint8_t { no, yes };

/// Options of BatchNorm1d and BatchNorm2d.
struct BatchNormLayerOptions {
  double eps = 1e-5;      ///< added to the variance
  double momentum = 0.1;  ///< weight of the batch in the new running statistics
  Affine affine = Affine::yes;
  TrackStatistics track = TrackStatistics::yes;
  DType dtype = DType::f32;
};

/// Base of BatchNorm1d and BatchNorm2d: normalises each channel to mean 0 and variance 1, by the statistics of the
/// batch in training and by the running statistics in eval mode. Buffers: running_mean, running_var,
/// num_batches_tracked (i64).
/// Source: Ioffe and Szegedy, "Batch normalization", 2015. Errors as for batch_norm().
///
/// forward() is thread-safe, also in training: each call normalises by its own batch, and the running statistics
/// include every batch, in an unspecified order. A checkpoint that recomputes a forward does not count its batch again.
class BatchNorm : public Layer {
 public:
  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

  /// For a batch that comes in parts: while it lives, a forward does not update the running statistics, but adds the
  /// part's statistics to what the layer has collected. Each part is normalised by itself. Must not run beside a
  /// forward.
  class Collecting {
   public:
    explicit Collecting(BatchNorm& layer) : layer_(layer) { layer_.collects_ = true; }
    ~Collecting() { layer_.collects_ = false; }
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;

   private:
    BatchNorm& layer_;
  };
  /// Updates the running statistics with what was collected, as one batch. Does nothing if nothing was collected.
  void take_in_collected();
  /// Forgets what was collected.
  void drop_collected();

 protected:
  /// Throws ValueError `[BatchNorm2d] channels below 1: 0`.
  BatchNorm(const char* name, std::int64_t channels, const BatchNormLayerOptions& options);

  [[nodiscard]] Variable normalized(const Variable& x);

 private:
  void take_in(const RunningStatistics& seen, const RunningStatistics& with_batch);
  void collect(const RunningStatistics& batch, std::int64_t count);

  /// Mean, and sum of squared differences from it, of `count` elements of each channel, in f64.
  struct Moments {
    std::int64_t count = 0;
    Tensor mean;
    Tensor squares;
  };

  BatchNormLayerOptions options_;
  Variable weight_;
  Variable bias_;
  Variable running_mean_;
  Variable running_var_;
  Variable batches_;
  std::mutex mutex_;  ///< held from reading a running value to replacing it
  std::atomic<bool> collects_{false};
  Moments collected_;  ///< guarded by mutex_
};

/// Batch norm of x (n, channels) or (n, channels, l). Throws ShapeError
/// `[BatchNorm1d] not (n, channels) or (n, channels, l): (4)`.
class BatchNorm1d final : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t channels, const BatchNormLayerOptions& options = {})
      : BatchNorm("BatchNorm1d", channels, options) {}

  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// Batch norm of x (n, channels, h, w). Throws ShapeError `[BatchNorm2d] not (n, channels, h, w): (3, 4)`.
class BatchNorm2d final : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t channels, const BatchNormLayerOptions& options = {})
      : BatchNorm("BatchNorm2d", channels, options) {}

  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// Options of layer, group and instance norm.
struct NormLayerOptions {
  double eps = 1e-5;  ///< added to the variance
  Affine affine = Affine::yes;
  DType dtype = DType::f32;
};

/// Normalises the last dimensions, whose shape is `normalized_shape`, to mean 0 and variance 1. Weight and bias have
/// that shape. Source: Ba et al., "Layer normalization", 2016. Errors as for layer_norm(). forward() is thread-safe.
class LayerNorm final : public Layer {
 public:
  explicit LayerNorm(const Shape& normalized_shape, const NormLayerOptions& options = {});
  /// Normalises the last dimension only.
  explicit LayerNorm(std::int64_t size, const NormLayerOptions& options = {}) : LayerNorm(Shape{size}, options) {}

  [[nodiscard]] Variable forward(const Variable& x) override;

  [[nodiscard]] const Variable& weight() const noexcept { return weight_; }
  [[nodiscard]] const Variable& bias() const noexcept { return bias_; }

 private:
  Shape normalized_shape_;
  double eps_;
  Variable weight_;
  Variable bias_;
};

/// Base of InstanceNorm1d and InstanceNorm2d: normalises each channel of each example to mean 0 and variance 1, in both
/// modes. It has no running statistics, and weight and bias only if `options` request them.
/// Source: Ulyanov et al., "Instance normalization", 2016. forward() is thread-safe.
class InstanceNorm : public Layer {
 protected:
  InstanceNorm(std::string_view name, std::int64_t channels, const NormLayerOptions& options);
  /// Returns the normalised `x`. Throws ShapeError unless x is (n, channels, ...) of `dims` dimensions.
  [[nodiscard]] Variable normalized(const Variable& x, int dims) const;

 private:
  std::string_view name_;
  std::int64_t channels_;
  double eps_;
  Variable weight_;
  Variable bias_;
};

/// Instance norm of x (n, channels, l). Throws ValueError `[InstanceNorm1d] channels below 1: 0`, ShapeError
/// `[InstanceNorm1d] not of 3 dimensions, with 6 channels: (2, 4, 3)`.
class InstanceNorm1d final : public InstanceNorm {
 public:
  explicit InstanceNorm1d(std::int64_t channels, const NormLayerOptions& options = {.affine = Affine::no})
      : InstanceNorm("InstanceNorm1d", channels, options) {}

  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// Instance norm of x (n, channels, h, w). Errors as for InstanceNorm1d.
class InstanceNorm2d final : public InstanceNorm {
 public:
  explicit InstanceNorm2d(std::int64_t channels, const NormLayerOptions& options = {.affine = Affine::no})
      : InstanceNorm("InstanceNorm2d", channels, options) {}

  [[nodiscard]] Variable forward(const Variable& x) override;
};

/// Normalises groups of neighbouring channels of each example to mean 0 and variance 1. Shapes: x (n, channels, ...).
/// Source: Wu and He, "Group normalization", 2018. Errors as for group_norm(). forward() is thread-safe.
class GroupNorm final : public Layer {
 public:
  /// Throws ValueError `[GroupNorm] 6 channels in 4 groups`.
  GroupNorm(std::int64_t groups, std::int64_t channels, const NormLayerOptions& options = {});

  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::int64_t groups_;
  std::int64_t channels_;
  double eps_;
  Variable weight_;
  Variable bias_;
};

}  // namespace troupe::nn
