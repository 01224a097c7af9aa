// Convolutions as calls of a library with `int` sizes, such as cuDNN, and the choice among its algorithms. Includes no
// CUDA header.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "tensor/cuda/place.h"
#include "tensor/error.h"
#include "tensor/kernels/convolution.h"

namespace troupe::cuda {

/// Images x (n, c, h, w) and filters (o, c / groups, kh, kw) give y (n, o, oh, ow). All have one dtype and are
/// contiguous. `y` has every window that fits.
struct ConvolutionPlan {
  DType dtype;
  std::array<int, 4> x;
  std::array<int, 4> weight;
  std::array<int, 4> y;
  std::array<int, 2> padding;
  std::array<int, 2> stride;
  std::array<int, 2> dilation;
  int groups;
  friend auto operator<=>(const ConvolutionPlan&, const ConvolutionPlan&) = default;
};

/// Returns the strides of contiguous elements.
inline std::array<int, 4> strides_of(const std::array<int, 4>& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// Throws ShapeError `[convolution] a number above 2^31 - 1: 2147483648`.
inline int library_int(std::int64_t number) {
  if (number <= std::numeric_limits<int>::max()) return static_cast<int>(number);
  throw ShapeError("[convolution] a number above 2^31 - 1: " + std::to_string(number));
}

inline std::array<int, 2> library_ints(const Size2d& size) { return {library_int(size[0]), library_int(size[1])}; }
inline std::array<int, 4> library_ints(const Shape& shape) {
  return {library_int(shape[0]), library_int(shape[1]), library_int(shape[2]), library_int(shape[3])};
}

inline ConvolutionPlan plan_convolution(DType dtype, const Shape& x, const Shape& weight, const Shape& y,
                                        const Conv2dOptions& options) {
  return {.dtype = dtype,
          .x = library_ints(x),
          .weight = library_ints(weight),
          .y = library_ints(y),
          .padding = library_ints(options.padding),
          .stride = library_ints(options.stride),
          .dilation = library_ints(options.dilation),
          .groups = library_int(options.groups)};
}

/// Returns the shape of y with every window that fits. The y of a transposed convolution whose output padding reaches
/// its stride is smaller.
inline Shape all_windows(const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  const auto count = [&](std::size_t i) {
    const auto dim = static_cast<int>(i) + 2;
    return (x[dim] + 2 * options.padding[i] - options.dilation[i] * (weight[dim] - 1) - 1) / options.stride[i] + 1;
  };
  return {x[0], weight[0], count(0), count(1)};
}

/// Returns `dy` extended to `shape`, with zeros for the windows it lacks.
inline Tensor with_all_windows(const Tensor& dy, const Shape& shape) {
  if (dy.shape() == shape) return dy;
  Tensor all = Tensor::empty(shape, dy.dtype(), dy.device());
  all.fill(0.0);
  all.slice(2, 0, dy.size(2)).slice(3, 0, dy.size(3)).copy_from(dy);
  return all;
}

/// Returns the largest number of images for which neither x nor y has more than `elements_max` elements. Throws
/// ShapeError `[convolution] more than 2^31 - 1 elements in an image: (1, 65536, 256, 256)`.
inline std::int64_t images_at_once(const Shape& x, const Shape& y, std::int64_t elements_max) {
  std::int64_t images = x[0];
  for (const Shape& shape : {x, y}) {
    const std::int64_t image = shape.numel() / shape[0];
    if (image > elements_max)
      throw ShapeError("[convolution] more than 2^31 - 1 elements in an image: " + to_string(shape));
    images = std::min(images, elements_max / image);
  }
  return images;
}

/// Whether a result replaces the target's elements or is added to them.
enum class Target : std::uint8_t { replaced, added_to };

/// Calls f(plan, offset in x, offset in y, target) for parts of the batch small enough for the library.
template <class Library, class F>
void for_each_part(const Library& library, DType dtype, const Shape& x, const Shape& weight, const Shape& y,
                   const Conv2dOptions& options, const F& f) {
  const std::int64_t step = images_at_once(x, y, library.elements_max());
  for (std::int64_t first = 0; first < x[0]; first += step) {
    Shape part_x = x;
    Shape part_y = y;
    part_x[0] = part_y[0] = std::min(step, x[0] - first);
    f(plan_convolution(dtype, part_x, weight, part_y, options), first * (x.numel() / x[0]), first * (y.numel() / y[0]),
      first == 0 ? Target::replaced : Target::added_to);
  }
}

/// Computes a convolution without the bias.
template <class Library>
void convolve_with(const Library& library, Tensor& y, const Tensor& x, const Tensor& weight,
                   const Conv2dOptions& options) {
  const Shape shape = all_windows(x.shape(), weight.shape(), options);
  Tensor all = y.shape() == shape ? y : Tensor::empty(shape, y.dtype(), y.device());
  const Place to = written(all);
  for_each_part(library, x.dtype(), x.shape(), weight.shape(), shape, options,
                [&](const ConvolutionPlan& plan, std::int64_t in_x, std::int64_t in_y, Target) {
                  library.forward(plan, to.from(in_y), read(x).from(in_x), read(weight));
                });
  if (y.shape() != shape) y.copy_from(all.slice(2, 0, y.size(2)).slice(3, 0, y.size(3)));
}

template <class Library>
void convolve_backward_input_with(const Library& library, Tensor& dx, const Tensor& dy, const Tensor& weight,
                                  const Conv2dOptions& options) {
  const Tensor all = with_all_windows(dy, all_windows(dx.shape(), weight.shape(), options));
  const Place to = written(dx);
  for_each_part(library, dx.dtype(), dx.shape(), weight.shape(), all.shape(), options,
                [&](const ConvolutionPlan& plan, std::int64_t in_x, std::int64_t in_y, Target) {
                  library.backward_input(plan, to.from(in_x), read(all).from(in_y), read(weight));
                });
}

/// Computes the gradient by the weight. Parts of a batch are summed in the dtype of `dw`.
template <class Library>
void convolve_backward_weight_with(const Library& library, Tensor& dw, const Tensor& dy, const Tensor& x,
                                   const Conv2dOptions& options) {
  const Tensor all = with_all_windows(dy, all_windows(x.shape(), dw.shape(), options));
  const Place to = written(dw);
  for_each_part(library, x.dtype(), x.shape(), dw.shape(), all.shape(), options,
                [&](const ConvolutionPlan& plan, std::int64_t in_x, std::int64_t in_y, Target target) {
                  library.backward_weight(plan, to, read(all).from(in_y), read(x).from(in_x), target);
                });
}

/// The library's description of one algorithm.
struct AlgorithmOffer {
  int number = 0;
  bool works = false;  ///< supports this convolution
  bool deterministic = false;
  bool exact = false;         ///< rounds no operand
  std::size_t workspace = 0;  ///< bytes
};

/// The workspace limit, in bytes. An algorithm above it is chosen only if no suitable one is within it.
inline constexpr std::size_t kWorkspaceMax = std::size_t{512} << 20;

/// Returns the index of the first of `offers`, fastest first, that works, is deterministic and exact, and keeps to
/// kWorkspaceMax; else of the one of these with the smallest workspace; nullopt if none qualifies.
inline std::optional<std::size_t> choose_algorithm(std::span<const AlgorithmOffer> offers) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const AlgorithmOffer& offer = offers[i];
    if (!offer.works || !offer.deterministic || !offer.exact) continue;
    if (offer.workspace <= kWorkspaceMax) return i;
    if (!best || offer.workspace < offers[*best].workspace) best = i;
  }
  return best;
}

}  // namespace troupe::cuda
