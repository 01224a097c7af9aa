#include "tensor/cpu/columns.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

/// The positions that one filter tap reads along one dimension: result i reads position start + i * stride.
struct Reach {
  std::int64_t start;
  std::int64_t stride;
  std::int64_t first;  ///< results in [first, last) read the image, the others its padding
  std::int64_t last;
};

Reach reach_of(const ConvSizes& s, std::size_t dim, std::int64_t tap) {
  const std::int64_t stride = s.stride[dim];
  const std::int64_t start = tap * s.dilation[dim] - s.padding[dim];
  const std::int64_t first = start >= 0 ? 0 : (-start + stride - 1) / stride;
  const std::int64_t room = s.in[dim] - start;
  const std::int64_t last = room <= 0 ? 0 : (room + stride - 1) / stride;
  return {start, stride, std::min(first, s.out[dim]), std::clamp(last, std::min(first, s.out[dim]), s.out[dim])};
}

/// The reach of every tap, computed once.
struct Taps {
  explicit Taps(const ConvSizes& s) {
    for (std::int64_t i = 0; i < s.kernel[0]; ++i) down.push_back(reach_of(s, 0, i));
    for (std::int64_t i = 0; i < s.kernel[1]; ++i) across.push_back(reach_of(s, 1, i));
  }
  std::vector<Reach> down;
  std::vector<Reach> across;
};

/// Calls `row(offset in columns, offset in x, reach)` for each row of results of one channel's lines.
template <class Row>
void for_each_row(const ConvSizes& s, const Taps& taps, std::int64_t group, const ConvPart& part, std::int64_t channel,
                  const Row& row) {
  const Reach nothing{.start = 0, .stride = 1, .first = 0, .last = 0};
  std::int64_t at = channel * s.taps() * part.pixels(s);
  for (const Reach& down : taps.down) {
    for (const Reach& across : taps.across) {
      for (std::int64_t n = part.image; n < part.image + part.images; ++n) {
        const std::int64_t plane = ((n * s.groups + group) * s.inputs + channel) * s.in_pixels();
        for (std::int64_t i = part.row; i < part.row + part.rows; ++i, at += s.out[1]) {
          const bool inside = i >= down.first && i < down.last;
          row(at, plane + (down.start + i * down.stride) * s.in[1] + across.start, inside ? across : nothing);
        }
      }
    }
  }
}

template <class T>
void fill_rows(T* columns, const T* x, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  const Taps taps(s);
  parallel_for(s.inputs, s.taps() * part.pixels(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      for_each_row(s, taps, group, part, channel, [&](std::int64_t at, std::int64_t from, const Reach& across) {
        T* const to = columns + at;
        const T* const pixels = x + from;
        for (std::int64_t i = 0; i < across.first; ++i) to[i] = T{0};
        if (across.stride == 1) {
          for (std::int64_t i = across.first; i < across.last; ++i) to[i] = pixels[i];
        } else {
          for (std::int64_t i = across.first; i < across.last; ++i) to[i] = pixels[i * across.stride];
        }
        for (std::int64_t i = across.last; i < s.out[1]; ++i) to[i] = T{0};
      });
    }
  });
}

template <class T>
void add_rows(T* x, const T* columns, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  const Taps taps(s);
  // Taps of one channel add to the same pixels, so one thread handles them all, in order.
  parallel_for(s.inputs, s.taps() * part.pixels(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      for_each_row(s, taps, group, part, channel, [&](std::int64_t at, std::int64_t to, const Reach& across) {
        const T* const from = columns + at;
        T* const pixels = x + to;
        if (across.stride == 1) {
          for (std::int64_t i = across.first; i < across.last; ++i) pixels[i] += from[i];
        } else {
          for (std::int64_t i = across.first; i < across.last; ++i) pixels[i * across.stride] += from[i];
        }
      });
    }
  });
}

/// For small images, whose rows are too short for a loop: a table of the pixel that each result of each tap reads.
class SmallImage {
 public:
  static constexpr std::int64_t kPixelsMax = 256;

  [[nodiscard]] static bool serves(const ConvSizes& s, const ConvPart& part) {
    return part.rows == s.out[0] && s.out_pixels() <= kPixelsMax / 4 && s.in_pixels() <= kPixelsMax;
  }

  explicit SmallImage(const ConvSizes& s) {
    const Taps taps(s);
    for (const Reach& down : taps.down) {
      for (const Reach& across : taps.across) {
        for (std::int64_t i = 0; i < s.out[0]; ++i) {
          for (std::int64_t j = 0; j < s.out[1]; ++j) {
            const bool inside = i >= down.first && i < down.last && j >= across.first && j < across.last;
            const std::int64_t h = down.start + i * down.stride;
            const std::int64_t w = across.start + j * across.stride;
            // All padding reads one extra pixel behind the image.
            pixel_.push_back(static_cast<std::int32_t>(inside ? h * s.in[1] + w : s.in_pixels()));
          }
        }
      }
    }
  }

  /// Calls `f(element, pixel)` for every column element of one image of `size` results. The elements of two taps are
  /// `distance` apart.
  template <class F>
  void for_each(std::int64_t size, std::int64_t distance, const F& f) const {
    const auto taps = static_cast<std::int64_t>(pixel_.size()) / size;
    const std::int32_t* pixel = pixel_.data();
    for (std::int64_t tap = 0; tap < taps; ++tap, pixel += size) {
      for (std::int64_t i = 0; i < size; ++i) f(tap * distance + i, pixel[i]);
    }
  }

 private:
  std::vector<std::int32_t> pixel_;
};

/// Calls `f` with the offsets of each channel's image and of its results in the columns.
template <class F>
void for_each_image(const ConvSizes& s, std::int64_t group, const ConvPart& part, const F& f) {
  parallel_for(s.inputs, s.taps() * part.pixels(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      for (std::int64_t n = 0; n < part.images; ++n) {
        const std::int64_t plane = (((part.image + n) * s.groups + group) * s.inputs + channel) * s.in_pixels();
        f(plane, channel * s.taps() * part.pixels(s) + n * s.out_pixels());
      }
    }
  });
}

template <class T>
void fill(T* columns, const T* x, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  if (!SmallImage::serves(s, part)) return fill_rows(columns, x, s, group, part);
  const SmallImage small(s);
  for_each_image(s, group, part, [&](std::int64_t plane, std::int64_t results) {
    std::array<T, SmallImage::kPixelsMax + 1> image;
    std::copy_n(x + plane, s.in_pixels(), image.begin());
    image[static_cast<std::size_t>(s.in_pixels())] = T{0};
    small.for_each(
        s.out_pixels(), part.pixels(s),
        [to = columns + results, from = image.data()](std::int64_t at, std::int32_t pixel) { to[at] = from[pixel]; });
  });
}

template <class T>
void add(T* x, const T* columns, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  if (!SmallImage::serves(s, part)) return add_rows(x, columns, s, group, part);
  const SmallImage small(s);
  for_each_image(s, group, part, [&](std::int64_t plane, std::int64_t results) {
    std::array<T, SmallImage::kPixelsMax + 1> image;
    std::copy_n(x + plane, s.in_pixels(), image.begin());
    small.for_each(
        s.out_pixels(), part.pixels(s),
        [to = image.data(), from = columns + results](std::int64_t at, std::int32_t pixel) { to[pixel] += from[at]; });
    std::copy_n(image.begin(), s.in_pixels(), x + plane);
  });
}

}  // namespace

void fill_columns(float* columns, const float* x, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  fill(columns, x, s, group, part);
}
void fill_columns(double* columns, const double* x, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  fill(columns, x, s, group, part);
}
void add_columns(float* x, const float* columns, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  add(x, columns, s, group, part);
}
void add_columns(double* x, const double* columns, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  add(x, columns, s, group, part);
}

}  // namespace troupe::cpu
