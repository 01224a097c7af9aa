// Finds elements of several images by number.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/cuda/strided.h"
#include "tensor/error.h"
#include "tensor/tensor.h"

namespace troupe::cuda {

/// Returns the number of elements of an image. Throws ShapeError `[pooling] 2^31 elements or more in an image: (1, 1,
/// 65536, 65536)`.
inline std::int64_t image_size(const Tensor& x) {
  const std::int64_t size = x.size(2) * x.size(3);
  if (size < kSmallWalk) return size;
  throw ShapeError("[pooling] 2^31 elements or more in an image: " + to_string(x.shape()));
}

/// Computes image, row and column of an element from its number in a stretch of images like those of `x`.
struct ImageElements {
  FastDivisor width;
  FastDivisor size;

  explicit ImageElements(const Tensor& x)
      : width(static_cast<std::uint32_t>(x.size(3))), size(static_cast<std::uint32_t>(image_size(x))) {}

  struct At {
    std::uint32_t image;
    std::uint32_t row;
    std::uint32_t column;
  };
  [[nodiscard]] TROUPE_HOST_DEVICE At at(std::uint32_t i) const {
    const std::uint32_t image = size.quotient(i);
    const std::uint32_t rest = i - image * size.divisor;
    const std::uint32_t row = width.quotient(rest);
    return {image, row, rest - row * width.divisor};
  }
};

}  // namespace troupe::cuda
