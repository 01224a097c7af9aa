// Pooling layers. They have no parameters, and forward() is thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

#include "autograd/nn/module.h"
#include "tensor/ops/pool.h"

namespace troupe::nn {

/// max_pool1d() as a layer.
class MaxPool1d final : public Layer {
 public:
  explicit MaxPool1d(const MaxPool1dOptions& options = {}) : options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  MaxPool1dOptions options_;
};

/// max_pool2d() as a layer.
class MaxPool2d final : public Layer {
 public:
  explicit MaxPool2d(const MaxPool2dOptions& options = {}) : options_(options) {}
  template <std::integral I>
  explicit MaxPool2d(I kernel, std::optional<std::int64_t> stride = {}, std::int64_t padding = 0)
      : MaxPool2d(square_window<MaxPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding)) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  MaxPool2dOptions options_;
};

/// avg_pool1d() as a layer.
class AvgPool1d final : public Layer {
 public:
  explicit AvgPool1d(const AvgPool1dOptions& options = {}) : options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  AvgPool1dOptions options_;
};

/// avg_pool2d() as a layer.
class AvgPool2d final : public Layer {
 public:
  explicit AvgPool2d(const AvgPool2dOptions& options = {}) : options_(options) {}
  template <std::integral I>
  explicit AvgPool2d(I kernel, std::optional<std::int64_t> stride = {}, std::int64_t padding = 0)
      : AvgPool2d(square_window<AvgPool2dOptions>(static_cast<std::int64_t>(kernel), stride, padding)) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  AvgPool2dOptions options_;
};

/// adaptive_avg_pool1d() as a layer: maps any length to `size`.
class AdaptiveAvgPool1d final : public Layer {
 public:
  explicit AdaptiveAvgPool1d(std::int64_t size) : size_(size) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::int64_t size_;
};

/// adaptive_avg_pool2d() as a layer: maps images of any size to `size`.
class AdaptiveAvgPool2d final : public Layer {
 public:
  explicit AdaptiveAvgPool2d(Size2d size) : size_(size) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Size2d size_;
};

/// adaptive_max_pool2d() as a layer: maps images of any size to `size`.
class AdaptiveMaxPool2d final : public Layer {
 public:
  explicit AdaptiveMaxPool2d(Size2d size) : size_(size) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Size2d size_;
};

}  // namespace troupe::nn
