#include "tensor/ops/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tensor/create.h"
#include "tensor/decompositions/resampling.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"
#include "tensor/ops/windows.h"

namespace troupe {
namespace {

void require_factor(std::string_view op, const Tensor& x, std::int64_t factor) {
  x.require_defined(op);
  if (factor < 1) throw ValueError(fmt::format("[{}] factor below 1: {}", op, factor));
}

/// Returns the leading dimensions of x, followed by `last`.
Shape images_of(const Tensor& x, std::initializer_list<std::int64_t> last) {
  Shape shape;
  for (int dim = 0; dim < x.dim() - 3; ++dim) shape.push_back(x.size(dim));
  for (const std::int64_t size : last) shape.push_back(size);
  return shape;
}

/// Permutes the dimensions after the leading ones; `last` counts from the end of the leading dimensions.
Tensor with_order(const Tensor& x, int leading, std::initializer_list<int> last) {
  std::vector<int> order;
  for (int dim = 0; dim < leading; ++dim) order.push_back(dim);
  for (const int dim : last) order.push_back(leading + dim);
  return x.permute(order);
}

/// The windows over images and their number.
struct Unfolding {
  UnfoldOptions options;
  Size2d windows;

  Unfolding(std::string_view op, const Shape& images, const UnfoldOptions& given) : options(given), windows(0) {
    const auto both = [](const Size2d& sizes) { return Shape{sizes[0], sizes[1]}; };
    const Shape counts = detail::count_windows(
        op, images, {both(given.kernel), both(given.stride), both(given.padding), both(given.dilation)});
    windows = {counts[0], counts[1]};
  }

  [[nodiscard]] std::int64_t places() const { return options.kernel[0] * options.kernel[1]; }

  /// Returns the view of the padded images that kernel element `number` reads, over all windows: (n, c, windows).
  [[nodiscard]] Tensor seen(const Tensor& padded, std::int64_t number) const {
    const Size2d at{number / options.kernel[1], number % options.kernel[1]};
    Tensor part = padded;
    for (std::size_t d = 0; d < 2; ++d) {
      const std::int64_t first = at[d] * options.dilation[d];
      const std::int64_t end = first + (windows[d] - 1) * options.stride[d] + 1;
      part = part.slice(static_cast<int>(d) + 2, first, end, options.stride[d]);
    }
    return part;
  }
};

/// Resampling by interpolate along one dimension.
class Resized {
 public:
  Resized(const InterpolateOptions& options, std::int64_t before, std::int64_t after, double scale)
      : options_(options), before_(before), after_(after), step_(step(scale)) {}

  /// As PyTorch: nearest pixels follow a given scale even if the size stays, as 1.3 of 2 pixels does. (Its CPU kernels
  /// keep each pixel then for images of one channel or with adjacent channels, and in the backward pass of images.)
  [[nodiscard]] bool changes() const {
    return before_ != after_ || (options_.mode == InterpolateMode::nearest && step_ != 1.0);
  }

  /// Returns the position of output pixel i in input pixels. For a given size the nearest pixel is exact;
  /// PyTorch rounds the scale, mostly to f32, and may take the pixel before it.
  [[nodiscard]] double place(std::int64_t i) const {
    const auto number = static_cast<double>(i);
    if (options_.mode == InterpolateMode::nearest) {
      const double last = static_cast<double>(before_ - 1);
      return std::min(std::floor(options_.scale.empty() ? static_cast<double>(i * before_ / after_) : number * step_),
                      last);
    }
    return options_.align_corners ? number * step_ : std::max(0.0, (number + 0.5) * step_ - 0.5);
  }

  [[nodiscard]] detail::ResampledDim dim(int number, const Tensor& x, DType computed) const {
    std::vector<std::int64_t> low;
    std::vector<std::int64_t> high;
    std::vector<double> share;
    for (std::int64_t i = 0; i < after_; ++i) {
      const double at = place(i);
      low.push_back(std::min(static_cast<std::int64_t>(at), before_ - 1));
      high.push_back(std::min(low.back() + 1, before_ - 1));
      share.push_back(std::min(at - static_cast<double>(low.back()), 1.0));
    }
    detail::ResampledDim found{number, from_values<std::int64_t>(low, {after_}).to(x.device()), {}, {}, {}};
    if (options_.mode == InterpolateMode::nearest) return found;
    Shape along{after_};
    for (int behind = number + 1; behind < x.dim(); ++behind) along.push_back(1);
    const Tensor shares = from_values<double>(share, along);
    found.high = from_values<std::int64_t>(high, {after_}).to(x.device());
    found.share = shares.to(computed).to(x.device());
    found.rest = sub(1.0, shares).to(computed).to(x.device());
    return found;
  }

 private:
  /// Returns the distance between adjacent output pixels in input pixels.
  [[nodiscard]] double step(double scale) const {
    if (options_.align_corners)
      return after_ > 1 ? static_cast<double>(before_ - 1) / static_cast<double>(after_ - 1) : 0.0;
    return options_.scale.empty() ? static_cast<double>(before_) / static_cast<double>(after_) : 1.0 / scale;
  }

  const InterpolateOptions& options_;
  std::int64_t before_;
  std::int64_t after_;
  double step_;
};

void check_interpolation(const Tensor& x, const InterpolateOptions& options) {
  constexpr std::string_view kOp = "interpolate";
  x.require_defined(kOp);
  const bool nearest = options.mode == InterpolateMode::nearest;
  const int rank = options.mode == InterpolateMode::linear || (nearest && x.dim() == 3) ? 3 : 4;
  if (x.dim() != rank) {
    throw ShapeError(
        fmt::format("[{}] not {}: {}", kOp, rank == 3 ? "(n, c, l)" : "(n, c, h, w)", to_string(x.shape())));
  }
  for (int dim = 2; dim < rank; ++dim) {
    if (x.size(dim) == 0) throw ShapeError(fmt::format("[{}] nothing to enlarge: {}", kOp, to_string(x.shape())));
  }
  if (!nearest && !is_floating(x.dtype())) detail::throw_not_floating(kOp, x.dtype());
  if (nearest && options.align_corners) throw ValueError(fmt::format("[{}] nearest has no corners", kOp));
  if (options.size.empty() == options.scale.empty())
    throw ValueError(fmt::format("[{}] size or scale, one of both", kOp));
  const std::size_t given = std::max(options.size.size(), options.scale.size());
  if (given != 1 && given != static_cast<std::size_t>(rank - 2)) {
    throw ValueError(fmt::format("[{}] {} numbers for {} dimensions", kOp, given, rank - 2));
  }
  for (const double scale : options.scale) {
    if (!(scale > 0.0)) throw ValueError(fmt::format("[{}] scale not above 0: {}", kOp, scale));
  }
}

/// Returns the entry of dimension `i`; a single entry applies to all dimensions.
template <class T>
T entry(const std::vector<T>& given, int i) {
  return given.size() == 1 ? given.front() : given[static_cast<std::size_t>(i)];
}

}  // namespace

namespace detail {

std::vector<ResampledDim> resampled_dims(const Tensor& x, const InterpolateOptions& options, DType computed) {
  constexpr double kLargest = 0x1p31;
  check_interpolation(x, options);
  std::vector<ResampledDim> dims;
  for (int dim = x.dim() - 1; dim >= 2; --dim) {
    const double scale = options.scale.empty() ? 1.0 : entry(options.scale, dim - 2);
    const double scaled = static_cast<double>(x.size(dim)) * scale;
    if (!(scaled < kLargest)) throw ValueError(fmt::format("[interpolate] size above 2^31 - 1: {}", scaled));
    const std::int64_t after = options.scale.empty() ? entry(options.size, dim - 2) : static_cast<std::int64_t>(scaled);
    if (static_cast<double>(after) >= kLargest)
      throw ValueError(fmt::format("[interpolate] size above 2^31 - 1: {}", after));
    if (after < 1) throw ValueError(fmt::format("[interpolate] size below 1: {}", after));
    const Resized resized(options, x.size(dim), after, scale);
    if (resized.changes()) dims.push_back(resized.dim(dim, x, computed));
  }
  return dims;
}

}  // namespace detail

Tensor pixel_shuffle(const Tensor& x, std::int64_t factor) {
  require_factor("pixel_shuffle", x, factor);
  if (x.dim() < 3 || x.size(-3) % factor != 0 || x.size(-3) / factor % factor != 0) {
    throw ShapeError(
        fmt::format("[pixel_shuffle] no {0} x {0} pixels in the channels: {1}", factor, to_string(x.shape())));
  }
  const std::int64_t channels = x.size(-3) / factor / factor;
  const Tensor apart = x.reshape(images_of(x, {channels, factor, factor, x.size(-2), x.size(-1)}));
  const Tensor mixed = with_order(apart, x.dim() - 3, {0, 3, 1, 4, 2});
  return mixed.reshape(images_of(x, {channels, x.size(-2) * factor, x.size(-1) * factor}));
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor) {
  require_factor("pixel_unshuffle", x, factor);
  if (x.dim() < 3 || x.size(-2) % factor != 0 || x.size(-1) % factor != 0) {
    throw ShapeError(
        fmt::format("[pixel_unshuffle] no {0} x {0} pixels in the image: {1}", factor, to_string(x.shape())));
  }
  const Size2d size{x.size(-2) / factor, x.size(-1) / factor};
  const Tensor apart = x.reshape(images_of(x, {x.size(-3), size[0], factor, size[1], factor}));
  const Tensor mixed = with_order(apart, x.dim() - 3, {0, 2, 4, 1, 3});
  return mixed.reshape(images_of(x, {x.size(-3) * factor * factor, size[0], size[1]}));
}

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  x.require_defined("interpolate");
  if (options.mode == InterpolateMode::nearest)
    return detail::resample(x, detail::resampled_dims(x, options, DType::f64));
  const DType computed = compute_dtype(x.dtype());
  return detail::resample(x.to(computed), detail::resampled_dims(x, options, computed)).to(x.dtype());
}

Tensor unfold(const Tensor& x, const UnfoldOptions& options) {
  x.require_defined("unfold");
  if (x.dim() != 4) throw ShapeError(fmt::format("[unfold] not (n, c, h, w): {}", to_string(x.shape())));
  const Unfolding u("unfold", x.shape(), options);
  const auto [h, w] = options.padding;
  const Tensor padded = h == 0 && w == 0 ? x : pad(x, {w, w, h, h});
  Tensor out = Tensor::empty({x.size(0), x.size(1), u.places(), u.windows[0], u.windows[1]}, x.dtype(), x.device());
  for (std::int64_t place = 0; place < u.places(); ++place) out.select(2, place).copy_from(u.seen(padded, place));
  return out.reshape({x.size(0), x.size(1) * u.places(), u.windows[0] * u.windows[1]});
}

Tensor fold(const Tensor& x, const Size2d& size, const UnfoldOptions& options) {
  x.require_defined("fold");
  if (!is_floating(x.dtype())) detail::throw_not_floating("fold", x.dtype());
  const std::int64_t places = options.kernel[0] * options.kernel[1];
  const std::int64_t channels = x.dim() == 3 && places > 0 ? x.size(1) / places : 0;
  const std::int64_t n = x.dim() == 3 ? x.size(0) : 0;
  const Unfolding u("fold", {n, channels, size[0], size[1]}, options);
  const std::int64_t windows = u.windows[0] * u.windows[1];
  if (x.dim() != 3 || x.size(1) != channels * places || x.size(2) != windows) {
    throw ShapeError(fmt::format("[fold] {} does not hold the windows ({}, {}) of ({}, {})", to_string(x.shape()),
                                 channels * places, windows, size[0], size[1]));
  }
  const DType computed = compute_dtype(x.dtype());
  const Tensor parts = x.to(computed).reshape({n, channels, places, u.windows[0], u.windows[1]});
  const auto [h, w] = options.padding;
  Tensor padded = zeros({n, channels, size[0] + 2 * h, size[1] + 2 * w}, computed, x.device());
  for (std::int64_t place = 0; place < places; ++place) {
    Tensor part = u.seen(padded, place);
    add_into(part, parts.select(2, place));
  }
  return padded.slice(2, h, h + size[0]).slice(3, w, w + size[1]).to(x.dtype()).contiguous();
}

}  // namespace troupe
