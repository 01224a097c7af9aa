// Layers that resize and rearrange images. Their forward() is thread-safe.
#pragma once

#include <cstdint>

#include "autograd/nn/module.h"
#include "tensor/ops/image.h"

namespace troupe::nn {

/// interpolate() as a layer.
class Upsample final : public Layer {
 public:
  explicit Upsample(InterpolateOptions options);
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  InterpolateOptions options_;
};

/// pixel_shuffle() as a layer.
class PixelShuffle final : public Layer {
 public:
  explicit PixelShuffle(std::int64_t factor) : factor_(factor) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::int64_t factor_;
};

/// pixel_unshuffle() as a layer.
class PixelUnshuffle final : public Layer {
 public:
  explicit PixelUnshuffle(std::int64_t factor) : factor_(factor) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  std::int64_t factor_;
};

/// unfold() as a layer.
class Unfold final : public Layer {
 public:
  explicit Unfold(const UnfoldOptions& options = {}) : options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  UnfoldOptions options_;
};

/// fold() as a layer, to images of `size`.
class Fold final : public Layer {
 public:
  explicit Fold(Size2d size, const UnfoldOptions& options = {}) : size_(size), options_(options) {}
  [[nodiscard]] Variable forward(const Variable& x) override;

 private:
  Size2d size_;
  UnfoldOptions options_;
};

}  // namespace troupe::nn
