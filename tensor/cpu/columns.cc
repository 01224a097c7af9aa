#include "tensor/cpu/columns.h"

#include <algorithm>

#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

/// Where one tap of a filter reads along one dimension: result i sees position start + i * stride.
struct Reach {
  std::int64_t start;
  std::int64_t stride;
  std::int64_t first;  ///< results in [first, last) see the image, the others its padding
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

/// Calls `row(element of the columns, its pixel in x, reach)` for each row of results of one line of columns.
template <class Row>
void for_each_row(const ConvSizes& s, std::int64_t group, const ConvPart& part, std::int64_t line, const Row& row) {
  const Reach vertical = reach_of(s, 0, line / s.kernel[1] % s.kernel[0]);
  const Reach across = reach_of(s, 1, line % s.kernel[1]);
  const Reach nothing{.start = 0, .stride = 1, .first = 0, .last = 0};
  const std::int64_t channel = group * s.inputs + line / s.taps();
  std::int64_t at = line * part.pixels(s);
  for (std::int64_t n = part.image; n < part.image + part.images; ++n) {
    const std::int64_t plane = (n * s.groups * s.inputs + channel) * s.in_pixels();
    for (std::int64_t i = part.row; i < part.row + part.rows; ++i, at += s.out[1]) {
      const bool inside = i >= vertical.first && i < vertical.last;
      const std::int64_t h = vertical.start + i * vertical.stride;
      row(at, plane + h * s.in[1] + across.start, inside ? across : nothing);
    }
  }
}

template <class T>
void fill(T* columns, const T* x, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  parallel_for(s.depth(), part.pixels(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      for_each_row(s, group, part, line, [&](std::int64_t at, std::int64_t from, const Reach& across) {
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
void add(T* x, const T* columns, const ConvSizes& s, std::int64_t group, const ConvPart& part) {
  // Taps of one channel write the same pixels: one thread takes them all, in their order.
  parallel_for(s.inputs, s.taps() * part.pixels(s), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin * s.taps(); line < end * s.taps(); ++line) {
      for_each_row(s, group, part, line, [&](std::int64_t at, std::int64_t to, const Reach& across) {
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
