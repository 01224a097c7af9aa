// Resizing images, rearranging pixels and channels, and extracting windows; rules as in ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// Turns channels into pixels; any dtype. Shapes: (..., c r^2, h, w) -> (..., c, h r, w r), where r is `factor`.
/// Source: Shi et al., "Real-time single image and video super-resolution", 2016.
/// Throws ShapeError `[pixel_shuffle] no 2 x 2 pixels in the channels: (1, 6, 2, 2)`, ValueError
/// `... factor below 1: 0`.
[[nodiscard]] Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);
/// The reverse. Throws ShapeError `[pixel_unshuffle] no 2 x 2 pixels in the image: (1, 6, 2, 3)`.
[[nodiscard]] Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor);

/// How pixels are computed: copied from the pixel before, or from the nearest two of a line or four of an image.
enum class InterpolateMode : std::uint8_t { nearest, linear, bilinear };

/// Size and mode of interpolate.
struct InterpolateOptions {
  std::vector<std::int64_t> size{};  ///< of the result after the channels: one number, or one per dimension
  std::vector<double> scale{};       ///< instead of `size`: factors of the input size; the product is rounded down
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = false;  ///< keeps the centers of the corner pixels in place, instead of their edges
};
/// Resizes lines (n, c, l) or images (n, c, h, w). Source: torch.nn.functional.interpolate; but for a given size the
/// nearest pixel is exact, where PyTorch rounds the scale.
/// Dtypes: any for nearest, floating for the others. Throws ShapeError `[interpolate] not (n, c, h, w): (2, 3, 4)`,
/// `... nothing to enlarge: (1, 2, 0, 3)`, ValueError `... size or scale, one of both`,
/// `... 3 numbers for 2 dimensions`, `... size below 1: 0`, `... size above 2^31 - 1: 4294967296`,
/// `... scale not above 0: -1`, `... nearest has no corners`.
[[nodiscard]] Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// Windows that slide over an image.
struct UnfoldOptions {
  Size2d kernel{3, 3};
  Size2d dilation{1, 1};
  Size2d padding{0, 0};  ///< zeros around the image
  Size2d stride{1, 1};
};
/// Returns the windows of images, each as one column, in row-major order. Any dtype.
/// Shapes: (n, c, h, w) -> (n, c kernel[0] kernel[1], windows).
/// Throws ShapeError `[unfold] not (n, c, h, w): (2, 3)`, errors of windows as conv2d.
[[nodiscard]] Tensor unfold(const Tensor& x, const UnfoldOptions& options = {});
/// The gradient of unfold: images (n, c, size[0], size[1]) whose elements are the sums over all windows that cover
/// them. Floating dtypes. Throws ShapeError `[fold] (1, 12, 5) does not hold the windows (12, 4) of (3, 3)`.
[[nodiscard]] Tensor fold(const Tensor& x, const Size2d& size, const UnfoldOptions& options = {});

}  // namespace troupe
