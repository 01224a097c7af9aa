// Images that are enlarged, rearranged, and cut into windows; rules as in ops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/dims.h"
#include "tensor/tensor.h"

namespace troupe {

/// Channels become pixels. Shapes: (..., c r^2, h, w) -> (..., c, h r, w r), r being `factor`; any dtype. Source: Shi et al.,
/// "Real-time single image and video super-resolution", 2016.
/// Throws ShapeError `[pixel_shuffle] no 2 x 2 pixels in the channels: (1, 6, 2, 2)`, ValueError `... factor below 1: 0`.
[[nodiscard]] Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);
/// The reverse. Throws ShapeError `[pixel_unshuffle] no 2 x 2 pixels in the image: (1, 6, 2, 3)`.
[[nodiscard]] Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor);

/// How pixels between pixels are made: the one before, or between the nearest two of a line, four of an image.
enum class InterpolateMode : std::uint8_t { nearest, linear, bilinear };

/// What interpolate makes.
struct InterpolateOptions {
  std::vector<std::int64_t> size{};  ///< of the result behind the channels: one number, or one for each dimension
  std::vector<double> scale{};       ///< or what the size is multiplied by, rounded down
  InterpolateMode mode = InterpolateMode::nearest;
  bool align_corners = false;  ///< whether the outermost pixels stay where they are, instead of the edges around them
};
/// Another size of the same lines (n, c, l) or images (n, c, h, w). Source: torch.nn.functional.interpolate.
/// Dtypes: any for nearest, floating for the others. Throws ShapeError `[interpolate] not (n, c, h, w): (2, 3, 4)`,
/// `... nothing to enlarge: (1, 2, 0, 3)`, ValueError `... size or scale, one of both`, `... 3 numbers for 2 dimensions`,
/// `... size below 1: 0`, `... size above 2^31 - 1: 4294967296`, `... scale not above 0: -1`, `... nearest has no corners`.
[[nodiscard]] Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

/// Which windows slide over an image.
struct UnfoldOptions {
  Size2d kernel{3, 3};
  Size2d dilation{1, 1};
  Size2d padding{0, 0};  ///< zeros around the image
  Size2d stride{1, 1};
};
/// The windows of images, each as a column, row by row. Shapes: (n, c, h, w) -> (n, c kernel[0] kernel[1], windows). Any dtype.
/// Throws ShapeError `[unfold] not (n, c, h, w): (2, 3)`, errors of windows as conv2d.
[[nodiscard]] Tensor unfold(const Tensor& x, const UnfoldOptions& options = {});
/// Images (n, c, size[0], size[1]) in which each element is the sum of what windows have of it: the gradient of unfold.
/// Floating dtypes. Throws ShapeError `[fold] (1, 12, 5) does not hold the windows (12, 4) of (3, 3)`.
[[nodiscard]] Tensor fold(const Tensor& x, const Size2d& size, const UnfoldOptions& options = {});

}  // namespace troupe
